/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/worker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "annotate/annotator.h"

/* How long to wait between two looks for the records of slow spans, ms. */
enum { LOOK_INTERVAL = 5 };

/* A reply this long before the deadline of the relay still comes in time. */
#define REPLY_MARGIN (2 * NSEC_PER_MSEC)

struct annotate_worker {
	struct live *live;
	struct channel *channel;
	struct annotator *annotator;
	struct annotate_status status;
	bool is_over;
};

static nsec_t now_on(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/* In time: what to add to the span. */
static int send_annotation(struct annotate_worker *w, const struct slow_span *span,
			   struct annotation *annotation)
{
	struct channel_message head = { .kind = CHANNEL_ANNOTATION,
					.number = span->ticket,
					.index = span->index };
	struct pb_buffer body = { 0 };

	if (annotation) {
		pb_append(&body, otlp_end(&annotation->attributes));
		head.split = body.size;
		pb_append(&body, otlp_end(&annotation->children));
	}

	int r = channel_send(w->channel, &head, (struct view){ (char *)body.data, body.size });

	pb_buffer_done(&body);
	return r;
}

/* Too late for that: child spans of their own. */
static int send_late(struct annotate_worker *w, struct slow_span *span,
		     struct annotation *annotation)
{
	struct otlp_span about = { .trace_id = { (char *)span->trace, sizeof(span->trace) },
				   .span_id = { (char *)span->id, sizeof(span->id) },
				   .start = span->start,
				   .end = span->end };

	annotation_put_late(annotation, &about, &span->late);
	w->status.late++;
	return channel_send(w->channel,
			    &(struct channel_message){ .kind = CHANNEL_EXPORT,
						       .number = 1 + annotation->span_count },
			    otlp_end(&span->late));
}

/* An annotation_fn. */
static void on_annotation(void *arg, struct slow_span *span, struct annotation *annotation,
			  const char *why)
{
	struct annotate_worker *w = arg;
	bool is_late = now_on(CLOCK_MONOTONIC) + REPLY_MARGIN > span->deadline;
	int r = 0;

	(void)why;
	if (!is_late)
		r = send_annotation(w, span, annotation);
	else if (annotation)
		r = send_late(w, span, annotation);
	w->status.unsent += r < 0;
}

static void receive(struct annotate_worker *w)
{
	struct channel_message head;
	struct view body;
	struct err err;
	int r;

	while ((r = channel_receive(w->channel, &head, &body)) > 0) {
		if (head.kind == CHANNEL_SLOW)
			annotator_add(w->annotator, w->live, head.number, head.time, body, &err);
		else if (head.kind == CHANNEL_SPANS)
			live_add_spans(w->live, body, &err);
	}
	w->is_over = r < 0;
}

/* A consumer's tick. */
static void on_tick(void *arg, const struct live_state *state)
{
	struct annotate_worker *w = arg;
	struct annotator_counters counters = annotator_counters(w->annotator);
	struct annotate_status *s = &w->status;

	s->slow = counters.slow;
	s->annotated = counters.annotated;
	s->joined = counters.joined;
	s->unrecorded = counters.unrecorded;
	s->too_many = counters.too_many;
	s->records = state->records;
	s->lost = state->lost;
	s->restarts = state->restarts;
	s->window = state->window;
	s->window_wanted = state->window_wanted;
	s->lag = state->lag;
	s->memory = state->memory;
	s->recorder_cpu = state->recorder.cpu_time;
	s->cpu = now_on(CLOCK_PROCESS_CPUTIME_ID);
	snprintf(s->problem, sizeof(s->problem), "%s", state->problem ?: "");
	channel_send(w->channel, &(struct channel_message){ .kind = CHANNEL_STATUS },
		     (struct view){ (char *)s, sizeof(*s) });
}

int annotate_worker_run(struct live *live, struct channel *channel, struct err *err)
{
	struct annotate_worker w = { .live = live, .channel = channel };
	_cleanup_(annotator_freep) struct annotator *annotator =
		annotator_new(&(struct annotator_options){ .fn = on_annotation, .arg = &w });
	bool is_busy = false;
	int r = 1;

	w.annotator = annotator;

	struct consumer history = annotator_consumer(annotator);

	live_add_consumer(live, &history);
	live_add_consumer(live, &(struct consumer){ .arg = &w, .tick = on_tick });
	while (r > 0 && !w.is_over) {
		r = live_poll(live, is_busy ? LOOK_INTERVAL : -1, channel_fd(channel), err);
		if (r < 0)
			break;
		if (r & LIVE_INPUT)
			receive(&w);
		is_busy = annotator_run(annotator, live) > 0;
		channel_flush(channel);
		is_busy |= channel_has_queued(channel);
	}
	return r < 0 ? r : 0;
}
