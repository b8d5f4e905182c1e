/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/annotator.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/requests/spans.h"
#include "analyse/requests/window.h"
#include "annotate/complete.h"
#include "annotate/history.h"
#include "annotate/late_request.h"
#include "base/clock.h"
#include "base/vec.h"

/* After the end of a span, the request that it serves is settled at the latest. */
#define SETTLED (REQUEST_LAG + REQUEST_SETTLED)
/* A join reads all spans and requests of the window: pause for so many times the CPU time of it. */
enum { JOIN_PAUSE = 10 };

/* An update of the model counts the contexts of a second again: pause for so many times its
 * duration. */
enum { UPDATE_PAUSE = 3 };
#define UPDATE_PAUSE_MAX (5 * NSEC_PER_MSEC)

/* How long one run can take: meanwhile, the stream of the recorder waits. */
#define RUN_MAX (20 * NSEC_PER_MSEC)

enum { PENDING_MAX = 10000, HISTORY_MAX = 64 << 20, TRACE_SPANS = 1000 };

/* After a slow span without threads, more of them are expected for so long. */
#define JOINS_EXPECTED (30 * NSEC_PER_SEC)

struct annotator {
	struct annotator_options options;
	struct annotator_counters counters;
	VEC(struct slow_span) pending;
	struct history *history;
	struct recent_counts *counts; /* child spans by trace, and roots with a path */
	struct slow_roots *roots;
	struct inferred_spans *requests; /* NULL: they are not exported */
	struct deviations *deviations;   /* NULL: there is no baseline */
	struct recent_counts *annotated; /* spans -> HAS_...; NULL: there is no baseline */
	const struct model *model;       /* with the threads of the history */
	nsec_t passed;                   /* up to here, the pump has passed the requests */
	nsec_t next_join, next_update;   /* CLOCK_MONOTONIC */
	nsec_t last_join;                /* when a span needed one; 0: never */
};

static struct inferred_spans *new_requests(const struct annotator_options *options)
{
	struct inferred_spans_options o = { .fn = options->add, .arg = options->arg };

	memcpy(o.skip_ports, options->skip_ports, sizeof(o.skip_ports));
	return inferred_spans_new(&o);
}

struct annotator *annotator_new(const struct annotator_options *options)
{
	struct annotator *a = must_alloc(sizeof(*a));

	a->options = *options;
	a->options.spans_max = options->spans_max ?: ANNOTATION_SPANS;
	a->options.pending_max = options->pending_max ?: PENDING_MAX;
	a->options.trace_max = options->trace_max ?: TRACE_SPANS;
	a->history = history_new(HISTORY_MAX);
	a->counts = recent_counts_new();
	a->roots = slow_roots_new(&(struct slow_roots_options){ .spans_max = a->options.trace_max,
								.counts = a->counts,
								.fn = options->add,
								.arg = options->arg });
	if (options->requests)
		a->requests = new_requests(options);
	if (options->baseline) {
		a->deviations = deviations_new(options->baseline, options->profiles);
		a->annotated = recent_counts_new();
	}
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
	slow_roots_free(a->roots);
	inferred_spans_free(a->requests);
	recent_counts_free(a->counts);
	deviations_free(a->deviations);
	recent_counts_free(a->annotated);
	free(a);
}

struct annotator_counters annotator_counters(const struct annotator *a)
{
	struct annotator_counters counters = a->counters;

	counters.roots = slow_roots_counters(a->roots);
	if (a->requests)
		counters.requests = inferred_spans_counters(a->requests);
	if (a->deviations)
		counters.deviations = deviations_counters(a->deviations);
	return counters;
}

bool annotator_wants_spans(const struct annotator *a)
{
	return a->requests || (a->last_join && clock_now() - a->last_join < JOINS_EXPECTED);
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

static nsec_t limit_of(struct view limits, uint32_t index)
{
	nsec_t limit = 0;

	if (index < limits.len / sizeof(limit))
		memcpy(&limit, limits.s + index * sizeof(limit), sizeof(limit));
	return limit;
}

static void add_root(struct annotator *a, struct otlp_reader *reader, const struct otlp_span *span)
{
	struct otlp_writer late;

	if (!a->options.add || !slow_roots_accepts(span))
		return;
	late = late_request(reader);
	slow_roots_add(a->roots, span, &late);
}

int annotator_add(struct annotator *a, struct live *live, uint64_t ticket, nsec_t deadline,
		  struct view request, struct view limits, struct err *err)
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
		slow.limit = limit_of(limits, slow.index);
		slow.start = span.start;
		slow.end = span.end;
		slow.late = late_request(&reader);
		add_pending(a, &slow);
		add_root(a, &reader, &span);
	}
	return r;
}

/* What a span has, in struct annotator's `annotated`; 0 at first. */
enum { HAS_ANNOTATION = 1, HAS_FINDING = 2 };

static uint32_t *annotated_at(struct annotator *a, const struct slow_span *slow)
{
	uint8_t key[sizeof(slow->trace) + sizeof(slow->id)];

	memcpy(key, slow->trace, sizeof(slow->trace));
	memcpy(key + sizeof(slow->trace), slow->id, sizeof(slow->id));
	return recent_counts_at(a->annotated, key, sizeof(key));
}

static void put_finding(struct annotation *annotation, const struct model *model,
			const struct span_finding *finding)
{
	struct otlp_put put = { .w = &annotation->attributes, .model = model };

	span_finding_put(finding, &put);
	otlp_put_done(&put);
}

/* Adds what is known of a slow span, or can be found out now. */
static void add_finding(struct annotator *a, const struct span_set *spans, span_id id,
			const struct slow_span *slow, struct annotation *annotation)
{
	struct span_finding finding;

	if (!a->deviations)
		return;
	*annotated_at(a, slow) = HAS_ANNOTATION;
	if (!deviations_take(a->deviations, slow->trace, slow->id, &finding) &&
	    !deviations_find(a->deviations, spans, id, &finding))
		return;
	*annotated_at(a, slow) = HAS_FINDING;
	put_finding(annotation, spans->model, &finding);
}

static bool annotate(struct annotator *a, const struct span_set *spans, span_id id,
		     struct slow_span *slow, int64_t realtime)
{
	_cleanup_(annotation_done) struct annotation annotation = { 0 };
	uint32_t used = *recent_counts_at(a->counts, slow->trace, sizeof(slow->trace));
	size_t room = used < a->options.trace_max ? a->options.trace_max - used : 0;
	struct annotation_options options = { .realtime = realtime,
					      .spans_max = room < a->options.spans_max
								   ? room
								   : a->options.spans_max,
					      .limit = slow->limit,
					      .start = slow->start,
					      .end = slow->end };
	const struct governor *governor = a->options.governor;

	for (enum detail d = DETAIL_STACKS; governor && d < DETAIL_COUNT; d++)
		options.reduced[d] = governor_has_gap(governor, d, slow->start - (uint64_t)realtime,
						      slow->end - (uint64_t)realtime);
	if (!annotation_find(spans, id, &options, &annotation))
		return false;
	a->counters.annotated++;
	add_finding(a, spans, id, slow, &annotation);
	if (a->options.syscalls)
		syscall_switch_slow(a->options.syscalls, spans, id, clock_now());
	*recent_counts_at(a->counts, slow->trace, sizeof(slow->trace)) += annotation.span_count;
	reply(a, slow, &annotation, NULL);
	return true;
}

static void give_up(struct annotator *a, struct slow_span *slow)
{
	a->counters.unrecorded++;
	reply(a, slow, NULL, "its threads were not recorded");
}

/* Whether to look for the records of a span: thousands can wait, and most for more than this run.
 */
static bool is_worth_a_try(const struct slow_span *slow, nsec_t until)
{
	return !slow->needs_join && until >= slow->complete_from;
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
	if (!span_is_complete(spans->model, id, until)) {
		slow->complete_from = span_set_at(spans, id)->end;
		return false;
	}
	if (annotate(a, spans, id, slow, realtime))
		return true;
	slow->needs_join = true;
	a->last_join = clock_now();
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
	if (!to || clock_now() < a->next_join)
		return;

	nsec_t cpu = clock_cpu_time();

	join(a, model, from > NSEC_PER_SEC ? from - NSEC_PER_SEC : 0, to + NSEC_PER_SEC, realtime);
	cpu = clock_cpu_time() - cpu;
	a->next_join = clock_now() + JOIN_PAUSE * cpu;
}

/* What is exported some seconds after its end, on its own. */
static void export_others(struct annotator *a, struct live *live)
{
	struct history_view view = { .history = a->history,
				     .until = a->passed,
				     .realtime = live_realtime_offset(live) };
	bool has_root = slow_roots_is_due(a->roots, view.until, view.realtime);
	bool has_request = a->requests && inferred_spans_is_due(a->requests, view.until);
	nsec_t until;

	if (!has_root && !has_request)
		return;
	view.model = live_model(live, &until);
	if (!view.model || view.model != a->model)
		return; /* the history is of another recorder */
	if (has_root)
		slow_roots_run(a->roots, &view);
	if (has_request)
		inferred_spans_run(a->requests, &view);
}

/* A late child of a span that leaves its baseline; with the waits, unless it has them. */
static void export_deviation(struct annotator *a, const struct span_set *spans, span_id id,
			     const struct span_finding *finding, int64_t realtime)
{
	_cleanup_(annotation_done) struct annotation annotation = { 0 };
	const struct span *span = span_set_at(spans, id);
	struct slow_span slow = { .start = span->start + (uint64_t)realtime,
				  .end = span->end + (uint64_t)realtime,
				  .is_deviation = true };
	struct annotation_options options = { .realtime = realtime,
					      .spans_max = a->options.spans_max,
					      .start = slow.start,
					      .end = slow.end };

	memcpy(slow.trace, finding->trace, sizeof(slow.trace));
	memcpy(slow.id, finding->id, sizeof(slow.id));
	if (*annotated_at(a, &slow) == HAS_FINDING)
		return;
	if (*annotated_at(a, &slow) || !annotation_find(spans, id, &options, &annotation))
		otlp_begin_attributes(&annotation.attributes);
	put_finding(&annotation, spans->model, finding);
	slow.late = late_request_of(span_set_string(spans, span->service));
	reply(a, &slow, &annotation, NULL);
}

/* Spans that leave their baseline, and were not slow until now. */
static void export_deviations(struct annotator *a, struct live *live)
{
	nsec_t until, stop = clock_now() + RUN_MAX;
	struct span_set spans = { 0 };
	struct span_finding finding;

	if (!a->deviations || !deviations_is_due(a->deviations, a->passed))
		return;
	spans.model = live_model(live, &until);
	while (clock_now() < stop && deviations_next(a->deviations, a->passed, &finding)) {
		span_id id = spans.model ? span_set_find(&spans, finding.trace, finding.id)
					 : (span_id){ 0 };

		if (id.i)
			export_deviation(a, &spans, id, &finding, live_realtime_offset(live));
	}
}

/* The model up to `until`; NULL if there is none, or it is too early to update it again. */
static const struct model *update_model(struct annotator *a, struct live *live, nsec_t *ret_until)
{
	nsec_t begin = clock_now();

	if (!a->pending.count || begin < a->next_update)
		return NULL;

	const struct model *model = live_model(live, ret_until);
	nsec_t end = clock_now();
	nsec_t pause = UPDATE_PAUSE * (end - begin);

	a->next_update = end + (pause < UPDATE_PAUSE_MAX ? pause : UPDATE_PAUSE_MAX);
	return model;
}

size_t annotator_run(struct annotator *a, struct live *live)
{
	nsec_t until = 0;
	const struct model *model = update_model(a, live, &until);
	struct span_set spans = { .model = model };
	int64_t realtime = live_realtime_offset(live);
	nsec_t stop = clock_now() + RUN_MAX;
	size_t kept = 0;

	export_others(a, live);
	export_deviations(a, live);
	if (!model)
		return a->pending.count;
	for (size_t i = 0; i < a->pending.count; i++) {
		struct slow_span slow = a->pending.items[i];

		if (!is_worth_a_try(&slow, until) || clock_now() > stop ||
		    !try_one(a, &spans, &slow, until, realtime))
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
	if (a->deviations)
		deviations_end_batch(a->deviations, view);
	history_add(a->history, view);
}

static void on_span(void *arg, const struct live_view *view, span_id root)
{
	struct annotator *a = arg;

	(void)view;
	if (a->deviations)
		deviations_add(a->deviations, root);
}

static void on_tick(void *arg, const struct live_state *state)
{
	struct annotator *a = arg;
	nsec_t window = state->window_wanted;

	history_forget(a->history, state->now > window ? state->now - window : 0);
}

struct consumer annotator_consumer(struct annotator *a)
{
	return (struct consumer){
		.arg = a, .span_ended = on_span, .batch_ended = on_batch, .tick = on_tick
	};
}
