/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: the span that each thread works for, over time.
 *
 * Contexts and attributes refer to a span by its ids, usually before the record of the
 * span, which comes at its end; some spans are never recorded.  So each span that is
 * referred to gets a number, its ref, which is smaller than the ids.
 *
 * A context that an agent reported is exact.  A context that the recorder observed when
 * the thread left the CPU began at some time since the thread got the CPU, and the
 * context of that slice is unknown.  So a thread is never shown as working for a span for
 * which it may not have worked.  A report can come after an observation and then removes
 * the doubt.  So contexts are collected unchanged in a log, and each update resolves the log from
 * where it is settled: a report is assumed to come within LATENESS.
 */
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"

/* ns; the recorder reads reports of agents many times per second. */
#define LATENESS NSEC_PER_SEC

static uint32_t add_ref(struct model *model, uint64_t key, const uint8_t trace[16],
			const uint8_t id[8])
{
	const uint64_t *span = map_find(&model->span_index, key);
	uint32_t number = model->refs.count;
	struct span_ref *ref = vec_push(&model->refs);

	*ref = (struct span_ref){ .span = { span ? *span : 0 } };
	memcpy(ref->trace, trace, sizeof(ref->trace));
	memcpy(ref->id, id, sizeof(ref->id));
	if (span)
		model->spans.items[*span].ref = number;
	return number;
}

uint32_t model_ref_of(struct model *model, const uint8_t trace[16], const uint8_t id[8])
{
	static const uint8_t none[8];
	uint64_t key, *at;

	if (memcmp(id, none, sizeof(none)) == 0)
		return 0;
	key = model_span_hash(trace, id);
	at = map_insert(&model->ref_index, key);
	if (!*at)
		*at = add_ref(model, key, trace, id);
	return *at;
}

void model_find_ref(struct model *model, span_id span, uint64_t key)
{
	const uint64_t *ref = map_find(&model->ref_index, key);

	if (!ref)
		return;
	model->refs.items[*ref].span = span;
	model->spans.items[span.i].ref = *ref;
}

static struct context_log *log_of(struct model *model, thread_id id)
{
	struct thread *thread = thread_at(model, id);

	if (!thread->log) {
		thread->log = must_alloc(sizeof(*thread->log));
		timeline_init(&thread->log->recorded, sizeof(struct context));
		*vec_push(&model->context_threads) = id;
	}
	return thread->log;
}

void model_context_log_free(struct context_log *log)
{
	if (log)
		timeline_done(&log->recorded);
	free(log);
}

void model_add_context(struct model *model, const struct source *source,
		       const struct record_context *r)
{
	nsec_t now = source_time(source, r->head.time);
	thread_id id = model_host_thread(model, source->host, r->head.tid, now);

	if (!id.i)
		id = model_thread_of(model, source, r->head.tid, now);

	struct context_log *log = log_of(model, id);

	if (r->flags & CONTEXT_OBSERVED && r->since < r->head.time)
		*(struct context *)timeline_push(&log->recorded) =
			(struct context){ .start = source_time(source, r->since),
					  .flags = CONTEXT_DOUBT };
	*(struct context *)timeline_push(&log->recorded) = (struct context){
		.start = now,
		.ref = r->flags & CONTEXT_UNKNOWN ? 0 : model_ref_of(model, r->trace, r->span),
		.flags = r->flags & (CONTEXT_UNKNOWN | CONTEXT_OBSERVED),
	};
	log->has_new = true;
}

struct ordered_context {
	struct context context;
	size_t order;
};

static int by_start(const void *a, const void *b)
{
	const struct ordered_context *x = a, *y = b;

	if (x->context.start != y->context.start)
		return x->context.start < y->context.start ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

static void sort_timeline(struct timeline *timeline)
{
	_cleanup_(freep) struct ordered_context *all =
		must_alloc(timeline_count(timeline) * sizeof(*all));
	size_t count = 0;
	timeline_pos pos;

	for (bool more = timeline_first(timeline, &pos); more;
	     more = timeline_next(timeline, &pos), count++)
		all[count] =
			(struct ordered_context){ *(struct context *)timeline_at(timeline, pos),
						  count };
	qsort(all, count, sizeof(*all), by_start);
	count = 0;
	for (bool more = timeline_first(timeline, &pos); more; more = timeline_next(timeline, &pos))
		*(struct context *)timeline_at(timeline, pos) = all[count++].context;
}

static bool is_sorted(const struct timeline *timeline)
{
	nsec_t last = 0;
	timeline_pos pos;

	for (bool more = timeline_first(timeline, &pos); more;
	     more = timeline_next(timeline, &pos)) {
		const struct context *context = timeline_at(timeline, pos);

		if (context->start < last)
			return false;
		last = context->start;
	}
	return true;
}

/* Resolves recorded contexts into the timeline of a thread. */
struct context_resolver {
	struct timeline *timeline;
	struct context *last; /* of the result, or NULL */
	bool doubts;          /* whether the context is in doubt */
	nsec_t since;         /* start of that doubt */
};

/* Replaces a context with the same start; skips one that repeats the last. */
static void put(struct context_resolver *s, struct context context)
{
	if (s->last && s->last->start >= context.start) {
		context.start = s->last->start;
		*s->last = context;
	} else if (!s->last || s->last->ref != context.ref || s->last->flags != context.flags) {
		s->last = timeline_push(s->timeline);
		*s->last = context;
	}
}

/* The time before an observation is unknown, unless the last report has the same span. */
static void put_observed(struct context_resolver *s, struct context context)
{
	bool is_known = !(context.flags & CONTEXT_UNKNOWN);
	bool was_known = s->last && !(s->last->flags & CONTEXT_UNKNOWN);

	if (!is_known || !was_known || s->last->ref != context.ref) {
		if (s->doubts)
			put(s, (struct context){ .start = s->since, .flags = CONTEXT_UNKNOWN });
		context.flags = is_known ? CONTEXT_OBSERVED : CONTEXT_UNKNOWN;
		put(s, context);
	}
	s->doubts = false;
}

static void resolve(struct context_resolver *s, struct context context)
{
	if (context.flags & CONTEXT_OBSERVED) {
		put_observed(s, context);
		return;
	}
	s->doubts |= context.flags & CONTEXT_DOUBT;
	s->since = context.start; /* a report is valid at least until here */
	if (!(context.flags & CONTEXT_DOUBT))
		put(s, context);
}

/* Returns to the state after the settled contexts. */
static struct context_resolver rewind_log(const struct context_log *log, struct timeline *timeline)
{
	struct context_resolver s = { timeline, NULL, log->doubts, log->since };
	timeline_pos pos;

	if (timeline_from(timeline, log->has_last ? log->last.start + 1 : 0, &pos))
		timeline_cut(timeline, pos);
	if (!log->has_last)
		return s;
	s.last = timeline_last(timeline);
	if (!s.last) /* forgotten */
		s.last = timeline_push(timeline);
	*s.last = log->last;
	return s;
}

static void settle(struct context_log *log, const struct context_resolver *s)
{
	log->has_last = s->last;
	if (s->last)
		log->last = *s->last;
	log->doubts = s->doubts;
	log->since = s->since;
}

/* Resolves all contexts of a thread that are not settled, and settles those before a time. */
static void resolve_log(struct context_log *log, struct timeline *timeline, nsec_t settled)
{
	struct context_resolver s = rewind_log(log, timeline);
	bool is_settled = false;
	timeline_pos pos;

	if (!is_sorted(&log->recorded)) /* reports can come later than observations */
		sort_timeline(&log->recorded);
	for (bool more = timeline_first(&log->recorded, &pos); more;
	     more = timeline_next(&log->recorded, &pos)) {
		const struct context *context = timeline_at(&log->recorded, pos);

		if (!is_settled && context->start >= settled) {
			settle(log, &s);
			is_settled = true;
		}
		resolve(&s, *context);
	}
	if (!is_settled)
		settle(log, &s);
	timeline_forget_before(&log->recorded, settled);
	log->has_new = false;
}

static int by_number(const void *a, const void *b)
{
	const thread_id *x = a, *y = b;

	return (x->i > y->i) - (x->i < y->i);
}

static void resolve_contexts(struct model *model)
{
	nsec_t settled = model->end > LATENESS ? model->end - LATENESS : 0;
	size_t kept = 0;
	bool is_in_order = true;

	for (size_t i = 0; i < model->context_threads.count; i++) {
		thread_id id = model->context_threads.items[i];
		struct thread *thread = thread_at(model, id);

		if (!thread->log)
			continue;
		is_in_order &= !kept || model->context_threads.items[kept - 1].i < id.i;
		model->context_threads.items[kept++] = id;
		if (thread->log->has_new)
			resolve_log(thread->log,
				    model_thread_timeline(thread, TIMELINE_CONTEXTS,
							  sizeof(struct context)),
				    settled);
	}
	model->context_threads.count = kept;
	if (!is_in_order)
		qsort(model->context_threads.items, kept, sizeof(thread_id), by_number);
}

void model_update_contexts(struct model *model)
{
	resolve_contexts(model);
	model_group_attributes(model);
	model_update_residencies(model);
	if (model->residencies.count > 1)
		model_number_spans(model);
}

const struct span_ref *model_span_ref(const struct model *model, uint32_t ref)
{
	return &model->refs.items[ref < model->refs.count ? ref : 0];
}

static void context_fill(const struct timeline *timeline, timeline_pos pos,
			 struct context_stretch *ret)
{
	ret->context = *(const struct context *)timeline_at(timeline, pos);
	ret->pos = pos;
	ret->end = timeline_next(timeline, &pos)
			   ? ((const struct context *)timeline_at(timeline, pos))->start
			   : UINT64_MAX;
}

bool model_context_from(const struct model *model, thread_id id, nsec_t t,
			struct context_stretch *ret)
{
	const struct timeline *timeline = model_thread(model, id)->timelines[TIMELINE_CONTEXTS];
	timeline_pos pos;

	if (!timeline || (!timeline_find(timeline, t, &pos) && !timeline_first(timeline, &pos)))
		return false;
	context_fill(timeline, pos, ret);
	return true;
}

bool model_context_next(const struct model *model, thread_id id, struct context_stretch *s)
{
	const struct timeline *timeline = model_thread(model, id)->timelines[TIMELINE_CONTEXTS];

	if (!timeline_next(timeline, &s->pos))
		return false;
	context_fill(timeline, s->pos, s);
	return true;
}

/* Marks the refs of the contexts in a timeline, or replaces them by new numbers. */
static void mark_refs(const struct timeline *timeline, uint32_t *numbers)
{
	timeline_pos pos;

	for (bool more = timeline_first(timeline, &pos); more; more = timeline_next(timeline, &pos))
		numbers[((struct context *)timeline_at(timeline, pos))->ref] = 1;
}

static void move_refs(const struct timeline *timeline, const uint32_t *numbers)
{
	timeline_pos pos;

	for (bool more = timeline_first(timeline, &pos); more;
	     more = timeline_next(timeline, &pos)) {
		struct context *context = timeline_at(timeline, pos);

		context->ref = numbers[context->ref];
	}
}

static bool move_ref(void *arg, uint64_t key, uint64_t *value)
{
	const uint32_t *numbers = arg;

	*value = numbers[*value];
	return *value;
}

/* New numbers for the refs that stay: those with a context, a span, or a span to come. */
static void number_refs(struct model *model, uint32_t *numbers)
{
	uint32_t kept = 1;

	for (uint32_t i = 1; i < model->refs.count; i++) {
		bool stays = numbers[i] || model->refs.items[i].span.i || i >= model->swept_refs;

		numbers[i] = stays ? kept : 0;
		if (stays)
			model->refs.items[kept++] = model->refs.items[i];
	}
	numbers[0] = 0;
	model->refs.count = model->swept_refs = kept;
	vec_shrink(&model->refs);
	map_sweep(&model->ref_index, move_ref, numbers);
}

void model_sweep_contexts(struct model *model, uint32_t dropped_spans)
{
	_cleanup_(freep) uint32_t *numbers = must_alloc(model->refs.count * sizeof(*numbers));

	for (uint32_t i = 1; i < model->refs.count; i++) {
		uint32_t *span = &model->refs.items[i].span.i;

		*span = *span > dropped_spans ? *span - dropped_spans : 0;
	}
	for (uint32_t i = 1; i < model->threads.count; i++) {
		const struct thread *thread = &model->threads.items[i];

		if (!thread->log)
			continue;
		mark_refs(&thread->log->recorded, numbers);
		if (thread->timelines[TIMELINE_CONTEXTS])
			mark_refs(thread->timelines[TIMELINE_CONTEXTS], numbers);
		numbers[thread->log->last.ref] = 1;
	}
	number_refs(model, numbers);
	for (uint32_t i = 1; i < model->threads.count; i++) {
		const struct thread *thread = &model->threads.items[i];

		if (!thread->log)
			continue;
		move_refs(&thread->log->recorded, numbers);
		if (thread->timelines[TIMELINE_CONTEXTS])
			move_refs(thread->timelines[TIMELINE_CONTEXTS], numbers);
		thread->log->last.ref = numbers[thread->log->last.ref];
	}
	for (uint32_t i = 1; i < model->spans.count; i++)
		model->spans.items[i].ref = numbers[model->spans.items[i].ref];
	model_sweep_attributes(model, numbers);
	model_sweep_residencies(model);
	if (model->residencies.count > 1)
		model_number_spans(model);
}
