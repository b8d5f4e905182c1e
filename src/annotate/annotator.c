/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/annotator.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyse/requests/spans.h"
#include "analyse/requests/window.h"
#include "annotate/history.h"
#include "base/vec.h"

/* An interval of a thread that runs on is recorded when it ends; do not wait longer for it. */
#define GRACE (100 * NSEC_PER_MSEC)

/* After the end of a span, the request that it serves is settled at the latest. */
#define SETTLED (REQUEST_LAG + REQUEST_SETTLED)
/* A join reads all spans and requests of the window: pause for so many times the CPU time of it. */
enum { JOIN_PAUSE = 10 };

/* How long one run can take: meanwhile, the stream of the recorder waits. */
#define RUN_MAX (20 * NSEC_PER_MSEC)

enum { PENDING_MAX = 10000, HISTORY_MAX = 64 << 20 };

struct annotator {
	struct annotator_options options;
	struct annotator_counters counters;
	VEC(struct slow_span) pending;
	struct history *history;
	const struct model *model; /* with the threads of the history */
	nsec_t passed;             /* up to here, the pump has passed the requests */
	nsec_t next_join;
};

static nsec_t now_on(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

struct annotator *annotator_new(const struct annotator_options *options)
{
	struct annotator *a = must_alloc(sizeof(*a));

	a->options = *options;
	a->options.spans_max = options->spans_max ?: ANNOTATION_SPANS;
	a->options.pending_max = options->pending_max ?: PENDING_MAX;
	a->history = history_new(HISTORY_MAX);
	return a;
}

void annotator_free(struct annotator *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->pending.count; i++)
		otlp_writer_done(&a->pending.items[i].late);
	vec_done(&a->pending);
	history_free(a->history);
	free(a);
}

struct annotator_counters annotator_counters(const struct annotator *a)
{
	return a->counters;
}

/* Ends a slow span. */
static void reply(struct annotator *a, struct slow_span *span, struct annotation *annotation,
		  const char *why)
{
	a->options.fn(a->options.arg, span, annotation, why);
	otlp_writer_done(&span->late);
}

static void add_pending(struct annotator *a, struct slow_span *span)
{
	a->counters.slow++;
	if (a->pending.count < a->options.pending_max) {
		*vec_push(&a->pending) = *span;
		return;
	}
	a->counters.too_many++;
	reply(a, span, NULL, "too many slow spans");
}

/* A request with the resource of the reader's last span, in case the annotation is late. */
static struct otlp_writer begin_late(struct otlp_reader *reader)
{
	static const char name[] = "sonde", version[] = SONDE_VERSION;
	struct otlp_writer w = { 0 };
	struct otlp_resource resource = { 0 };

	if (otlp_read_resource(reader, &resource) < 0)
		resource = (struct otlp_resource){ 0 };
	otlp_begin_resource(&w, &resource);
	otlp_put_list(&w, resource.attributes);
	otlp_begin_scope(&w, &(struct otlp_scope){ .name = { name, strlen(name) },
						   .version = { version, strlen(version) } });
	return w;
}

int annotator_add(struct annotator *a, struct live *live, uint64_t ticket, nsec_t deadline,
		  struct view request, struct err *err)
{
	struct slow_span slow = { .ticket = ticket, .deadline = deadline };
	struct otlp_reader reader;
	struct otlp_span span;
	int r = live_add_spans(live, request, err);

	if (r < 0)
		return r;
	otlp_reader_init(&reader, request);
	for (; (r = otlp_next_span(&reader, &span)) > 0; slow.index++) {
		if (span.trace_id.len != sizeof(slow.trace) || span.span_id.len != sizeof(slow.id))
			continue;
		memcpy(slow.trace, span.trace_id.s, sizeof(slow.trace));
		memcpy(slow.id, span.span_id.s, sizeof(slow.id));
		slow.start = span.start;
		slow.end = span.end;
		slow.late = begin_late(&reader);
		add_pending(a, &slow);
	}
	return r;
}

/* Whether all records of a span are in the model, as far as they will come soon. */
static bool is_complete(const struct span_set *spans, span_id id, nsec_t until)
{
	const struct span *span = span_set_at(spans, id);
	const struct thread *thread = model_thread(spans->model, span->thread);

	if (until < span->end)
		return false;
	return !span->thread.i || thread->exited || thread->end >= span->end ||
	       until >= span->end + GRACE;
}

static bool annotate(struct annotator *a, const struct span_set *spans, span_id id,
		     struct slow_span *slow, int64_t realtime)
{
	_cleanup_(annotation_done) struct annotation annotation = { 0 };
	struct annotation_options options = { .realtime = realtime,
					      .spans_max = a->options.spans_max,
					      .start = slow->start,
					      .end = slow->end };

	if (!annotation_find(spans, id, &options, &annotation))
		return false;
	a->counters.annotated++;
	reply(a, slow, &annotation, NULL);
	return true;
}

static void give_up(struct annotator *a, struct slow_span *slow)
{
	a->counters.unrecorded++;
	reply(a, slow, NULL, "its threads were not recorded");
}

/* Whether a span got its reply. */
static bool try_one(struct annotator *a, const struct span_set *spans, struct slow_span *slow,
		    nsec_t until, int64_t realtime)
{
	span_id id = span_set_find(spans, slow->trace, slow->id);

	if (!id.i) {
		give_up(a, slow);
		return true;
	}
	if (slow->needs_join || !is_complete(spans, id, until))
		return false;
	if (annotate(a, spans, id, slow, realtime))
		return true;
	slow->needs_join = true;
	return false;
}

static bool is_due(const struct annotator *a, const struct slow_span *slow, int64_t realtime)
{
	return slow->needs_join && a->passed >= slow->end - (uint64_t)realtime + SETTLED;
}

/* Annotates or gives up all spans that wait for a join and are due, by one join. */
static void join(struct annotator *a, const struct model *model, nsec_t from, nsec_t to,
		 int64_t realtime)
{
	_cleanup_(span_set_done) struct span_set spans = { .model = model };
	_cleanup_(requests_done) struct requests requests;
	size_t kept = 0;

	history_find(a->history, from, to, &requests);
	request_spans_join(&requests, &spans, from, NULL, NULL);
	for (size_t i = 0; i < a->pending.count; i++) {
		struct slow_span slow = a->pending.items[i];
		span_id id = span_set_find(&spans, slow.trace, slow.id);

		if (!is_due(a, &slow, realtime)) {
			a->pending.items[kept++] = slow;
			continue;
		}
		if (id.i && annotate(a, &spans, id, &slow, realtime))
			a->counters.joined++;
		else
			give_up(a, &slow);
	}
	a->pending.count = kept;
}

static void try_joins(struct annotator *a, const struct model *model, int64_t realtime)
{
	nsec_t from = UINT64_MAX, to = 0;

	for (size_t i = 0; i < a->pending.count; i++) {
		const struct slow_span *slow = &a->pending.items[i];

		if (!is_due(a, slow, realtime))
			continue;
		if (slow->start - (uint64_t)realtime < from)
			from = slow->start - (uint64_t)realtime;
		if (slow->end - (uint64_t)realtime > to)
			to = slow->end - (uint64_t)realtime;
	}
	if (!to || now_on(CLOCK_MONOTONIC) < a->next_join)
		return;

	nsec_t cpu = now_on(CLOCK_PROCESS_CPUTIME_ID);

	join(a, model, from > NSEC_PER_SEC ? from - NSEC_PER_SEC : 0, to + NSEC_PER_SEC, realtime);
	cpu = now_on(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	a->next_join = now_on(CLOCK_MONOTONIC) + JOIN_PAUSE * cpu;
}

size_t annotator_run(struct annotator *a, struct live *live)
{
	nsec_t until = 0;
	const struct model *model = a->pending.count ? live_model(live, &until) : NULL;
	struct span_set spans = { .model = model };
	int64_t realtime = live_realtime_offset(live);
	nsec_t stop = now_on(CLOCK_MONOTONIC) + RUN_MAX;
	size_t kept = 0;

	if (!model)
		return a->pending.count;
	for (size_t i = 0; i < a->pending.count; i++) {
		struct slow_span slow = a->pending.items[i];

		if (now_on(CLOCK_MONOTONIC) > stop || !try_one(a, &spans, &slow, until, realtime))
			a->pending.items[kept++] = slow;
	}
	a->pending.count = kept;
	try_joins(a, model, realtime);
	return a->pending.count;
}

static void on_batch(void *arg, const struct live_view *view)
{
	struct annotator *a = arg;

	if (view->model != a->model) { /* a new recorder */
		history_free(a->history);
		a->history = history_new(HISTORY_MAX);
		a->model = view->model;
	}
	a->passed = view->now;
	history_add(a->history, view);
}

static void on_tick(void *arg, const struct live_state *state)
{
	struct annotator *a = arg;
	nsec_t window = state->window_wanted;

	history_forget(a->history, state->now > window ? state->now - window : 0);
}

struct consumer annotator_consumer(struct annotator *a)
{
	return (struct consumer){ .arg = a, .batch_ended = on_batch, .tick = on_tick };
}
