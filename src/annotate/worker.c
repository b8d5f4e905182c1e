/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/worker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "annotate/annotator.h"
#include "annotate/service_wakeups.h"
#include "base/clock.h"
#include "record/verb.h"

/* How long to wait between two looks for the records of slow spans, ms. */
enum { LOOK_INTERVAL = 5 };

/* A reply this long before the deadline of the relay still comes in time. */
#define REPLY_MARGIN (2 * NSEC_PER_MSEC)

/* How long to get spans that are not slow, unless renewed with the next tick. */
#define WANT_SPANS (5 * NSEC_PER_SEC)

struct annotate_worker {
	struct live *live;
	struct channel *channel;
	struct annotator *annotator;
	struct syscall_switch *syscalls;
	struct service_wakeups *wakeups;
	struct annotate_status status;
	struct governor governor;
	struct annotate_budget budget;
	unsigned int level;    /* that the recorder obeys */
	unsigned int restarts; /* of the recorder, that the governor knows of */
	bool has_syscalls;     /* they can be recorded */
	bool is_over;
};

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
	w->status.late += !span->is_deviation;
	return channel_send(w->channel,
			    &(struct channel_message){ .kind = CHANNEL_EXPORT,
						       .number = 1 + annotation->span_count },
			    otlp_end(&span->late));
}

/* Spans on their own. */
static void on_added(void *arg, struct view request, size_t spans)
{
	struct annotate_worker *w = arg;
	struct channel_message head = { .kind = CHANNEL_EXPORT, .number = spans };

	w->status.unsent += channel_send(w->channel, &head, request) < 0;
}

/* An annotation_fn. */
static void on_annotation(void *arg, struct slow_span *span, struct annotation *annotation,
			  const char *why)
{
	struct annotate_worker *w = arg;
	bool is_late = clock_now() + REPLY_MARGIN > span->deadline;
	int r = 0;

	(void)why;
	if (!is_late)
		r = send_annotation(w, span, annotation);
	else if (annotation)
		r = send_late(w, span, annotation);
	w->status.unsent += r < 0;
}

/* Sheds or restores details.  What the recorder does not read is sent again at the next tick. */
static void apply_level(struct annotate_worker *w)
{
	const struct governor *g = &w->governor;
	struct verb_message stacks = { VERB_STACKS, 0, w->budget.stacks };
	struct verb_message others = { VERB_OTHER_TASKS, 0, 1 };

	if (governor_sheds(g, DETAIL_STACKS))
		stacks.value = 0;
	if (governor_sheds(g, DETAIL_OTHER_TASKS))
		others.value = 0;
	syscall_switch_forbid(w->syscalls, governor_sheds(g, DETAIL_SYSCALLS));
	if (w->level != g->level && live_verb(w->live, &stacks) == 0 &&
	    (!g->recorded[DETAIL_OTHER_TASKS] || live_verb(w->live, &others) == 0))
		w->level = g->level;
}

static void set_budget(struct annotate_worker *w, struct view body)
{
	if (body.len != sizeof(w->budget))
		return;
	memcpy(&w->budget, body.s, sizeof(w->budget));
	w->governor.recorded[DETAIL_STACKS] = w->budget.stacks;
	w->governor.recorded[DETAIL_SYSCALLS] = w->has_syscalls;
	w->governor.recorded[DETAIL_OTHER_TASKS] = w->budget.other_tasks;
	governor_set_budget(&w->governor, w->budget.budget);
}

static void govern(struct annotate_worker *w, const struct live_state *state)
{
	nsec_t now = clock_now();
	struct cpu_usage usage[GOVERNOR_PARTS] = {
		[GOVERNOR_RELAY] = w->budget.relay,
		[GOVERNOR_WORKER] = { now, clock_cpu_time() },
		[GOVERNOR_RECORDER] = { state->recorder.time, state->recorder.cpu_time },
	};

	if (w->restarts != state->restarts) {
		w->restarts = state->restarts;
		governor_restart(&w->governor, now);
		w->level = 0;
	}
	governor_update(&w->governor, now, usage);
	apply_level(w);
	w->status.detail_level = w->governor.level;
	w->status.cpu_share = w->governor.used;
	for (enum detail d = DETAIL_STACKS; d < DETAIL_COUNT; d++)
		w->status.sheds[d] = governor_sheds(&w->governor, d);
}

static void receive(struct annotate_worker *w)
{
	struct channel_message head;
	struct view body;
	struct err err;
	int r;

	while ((r = channel_receive(w->channel, &head, &body)) > 0) {
		if (head.kind == CHANNEL_SLOW)
			annotator_add(w->annotator, w->live, head.number, head.time,
				      (struct view){ body.s, head.split },
				      (struct view){ body.s + head.split, body.len - head.split },
				      &err);
		else if (head.kind == CHANNEL_SPANS)
			live_add_spans(w->live, body, &err);
		else if (head.kind == CHANNEL_BUDGET)
			set_budget(w, body);
	}
	w->is_over = r < 0;
}

static void send_wakeups(struct annotate_worker *w)
{
	struct service_latency services[SERVICES_MAX];
	size_t count = service_wakeups_list(w->wakeups, services);

	channel_send(w->channel, &(struct channel_message){ .kind = CHANNEL_WAKEUPS },
		     (struct view){ (char *)services, count * sizeof(services[0]) });
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
	s->paths = counters.roots.paths;
	s->paths_shed = counters.roots.too_many;
	s->requests = counters.requests.exported;
	s->requests_placed = counters.requests.placed;
	s->requests_shed = counters.requests.shed;
	s->deviations = counters.deviations;
	s->records = state->records;
	s->lost = state->lost;
	s->restarts = state->restarts;
	s->window = state->window;
	s->window_wanted = state->window_wanted;
	s->lag = state->lag;
	s->memory = state->memory;
	s->recorder_cpu = state->recorder.cpu_time;
	s->cpu = clock_cpu_time();
	s->has_scope = state->recorder.time != 0;
	s->processes = state->recorder.processes;
	s->scope_refused = state->recorder.scope_refused;
	syscall_switch_get_state(w->syscalls, &s->syscalls);
	s->services_omitted = service_wakeups_omitted(w->wakeups);
	snprintf(s->warning, sizeof(s->warning), "%s", state->warning ?: "");
	snprintf(s->problem, sizeof(s->problem), "%s", state->problem ?: "");
	govern(w, state);
	channel_send(w->channel, &(struct channel_message){ .kind = CHANNEL_STATUS },
		     (struct view){ (char *)s, sizeof(*s) });
	send_wakeups(w);
	if (annotator_wants_spans(w->annotator))
		channel_send(w->channel,
			     &(struct channel_message){ .kind = CHANNEL_WANT_SPANS,
							.time = clock_now() + WANT_SPANS },
			     (struct view){ "", 0 });
}

int annotate_worker_run(struct live *live, struct channel *channel,
			const struct annotate_worker_options *options, struct err *err)
{
	_cleanup_(syscall_switch_freep) struct syscall_switch *syscalls =
		syscall_switch_new(options->syscalls);
	_cleanup_(service_wakeups_freep) struct service_wakeups *wakeups = service_wakeups_new();
	struct annotate_worker w = {
		.live = live,
		.channel = channel,
		.syscalls = syscalls,
		.wakeups = wakeups,
		.has_syscalls = options->syscalls != SWITCH_NEVER,
	};
	struct annotator_options annotating = { .fn = on_annotation,
						.add = on_added,
						.arg = &w,
						.governor = &w.governor,
						.syscalls = syscalls,
						.requests = options->requests,
						.baseline = options->baseline,
						.profiles = options->profiles };

	memcpy(annotating.skip_ports, options->skip_ports, sizeof(annotating.skip_ports));

	_cleanup_(annotator_freep) struct annotator *annotator = annotator_new(&annotating);
	bool is_busy = false;
	int r = 1;

	w.annotator = annotator;
	governor_init(&w.governor, clock_now());

	struct consumer history = annotator_consumer(annotator);
	struct consumer services = service_wakeups_consumer(wakeups);

	live_add_consumer(live, &history);
	live_add_consumer(live, &services);
	live_add_consumer(live, &(struct consumer){ .arg = &w, .tick = on_tick });
	while (r > 0 && !w.is_over) {
		syscall_switch_run(syscalls, live, clock_now());
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
