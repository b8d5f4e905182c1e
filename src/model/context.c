/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: the span that each thread works for, over time.  And attributes.
 *
 * Contexts and attributes refer to a span by its ids, usually before the record of the
 * span, which comes at its end; some spans are never recorded.  So each span that is
 * referred to gets a number, its ref, which is smaller than the ids.  model_finish() finds
 * the span of each ref.
 *
 * A context that an agent reported is exact.  A context that the recorder observed when
 * the thread left the CPU began at some time since the thread got the CPU, and the
 * context of that slice is unknown.  So a thread is never shown as working for a span for
 * which it may not have worked.  A report can come after an observation and then removes
 * the doubt.  So contexts are collected unchanged and resolved once all are there.
 */
#include <string.h>

#include "model/model_internal.h"

static uint32_t ref_of(struct model *model, const uint8_t trace[16], const uint8_t id[8])
{
	static const uint8_t none[8];
	uint64_t *at;

	if (memcmp(id, none, sizeof(none)) == 0)
		return 0;
	at = map_insert(&model->ref_index, model_span_hash(trace, id));
	if (!*at) {
		struct span_ref *ref;

		*at = model->refs.count;
		ref = vec_push(&model->refs);
		*ref = (struct span_ref){ 0 };
		memcpy(ref->trace, trace, sizeof(ref->trace));
		memcpy(ref->id, id, sizeof(ref->id));
	}
	return *at;
}

void model_add_context(struct model *model, const struct source *source,
		       const struct record_context *r)
{
	nsec_t now = source_time(source, r->head.time);
	thread_id id = model_host_thread(model, source->host, r->head.tid, now);

	if (!id.i)
		id = model_thread_of(model, source, r->head.tid, now);

	struct timeline *timeline = model_thread_timeline(thread_at(model, id), TIMELINE_CONTEXTS,
							  sizeof(struct context));

	if (r->flags & CONTEXT_OBSERVED && r->since < r->head.time)
		*(struct context *)timeline_push(timeline) =
			(struct context){ .start = source_time(source, r->since),
					  .flags = CONTEXT_DOUBT };
	*(struct context *)timeline_push(timeline) = (struct context){
		.start = now,
		.ref = r->flags & CONTEXT_UNKNOWN ? 0 : ref_of(model, r->trace, r->span),
		.flags = r->flags & (CONTEXT_UNKNOWN | CONTEXT_OBSERVED),
	};
}

void model_add_attribute(struct model *model, const struct source *source,
			 const struct record_attribute *r)
{
	uint32_t ref = ref_of(model, r->trace, r->span);

	if (ref)
		*vec_push(&model->attributes) = (struct attribute){
			.value = r->type == ATTRIBUTE_STRING
					 ? model_add_string(model, source, r->value).i
					 : r->value,
			.ref = ref,
			.key = model_add_string(model, source, r->key),
			.type = r->type,
		};
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

/* Resolves the contexts of a thread in place: the result is never longer than the input. */
struct context_resolver {
	struct timeline *timeline;
	timeline_pos end;     /* of the result */
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
		s->last = timeline_at(s->timeline, s->end);
		*s->last = context;
		if (!timeline_next(s->timeline, &s->end))
			s->end.item++;
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

static void resolve_timeline(struct timeline *timeline)
{
	struct context_resolver s = { .timeline = timeline };
	timeline_pos pos;

	if (!is_sorted(timeline)) /* reports can come later than observations */
		sort_timeline(timeline);
	for (bool more = timeline_first(timeline, &pos); more;
	     more = timeline_next(timeline, &pos)) {
		struct context context = *(const struct context *)timeline_at(timeline, pos);

		if (context.flags & CONTEXT_OBSERVED) {
			put_observed(&s, context);
			continue;
		}
		s.doubts |= context.flags & CONTEXT_DOUBT;
		s.since = context.start; /* a report is valid at least until here */
		if (!(context.flags & CONTEXT_DOUBT))
			put(&s, context);
	}
	timeline_cut(timeline, s.end);
}

static void find_spans(struct model *model)
{
	for (uint32_t i = 1; i < model->refs.count; i++) {
		struct span_ref *ref = &model->refs.items[i];
		const uint64_t *span =
			map_find(&model->span_index, model_span_hash(ref->trace, ref->id));

		ref->span = (span_id){ span ? *span : 0 };
		if (span)
			model->spans.items[*span].ref = i;
	}
}

/* A span in two inputs has its attributes twice; as with spans, the first one stays. */
static void drop_repeated_attributes(struct model *model)
{
	struct map seen = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < model->attributes.count; i++) {
		struct attribute attribute = model->attributes.items[i];
		uint64_t *again =
			map_insert(&seen, (uint64_t)attribute.ref << 32 | attribute.key.i);

		if (!*again)
			model->attributes.items[kept++] = attribute;
		*again = true;
	}
	model->attributes.count = kept;
	map_done(&seen);
}

/* Groups attributes by span, in the order of the input within each (a counting sort). */
static void group_attributes(struct model *model)
{
	size_t count = model->attributes.count;
	_cleanup_(freep) struct attribute *unsorted = must_alloc((count + 1) * sizeof(*unsorted));
	uint32_t at = 0;

	if (count)
		memcpy(unsorted, model->attributes.items, count * sizeof(*unsorted));
	for (size_t i = 0; i < model->refs.count; i++)
		model->refs.items[i].attribute_count = 0;
	for (size_t i = 0; i < count; i++)
		model->refs.items[unsorted[i].ref].attribute_count++;
	for (size_t i = 0; i < model->refs.count; i++) {
		model->refs.items[i].attributes = at;
		at += model->refs.items[i].attribute_count;
		model->refs.items[i].attribute_count = 0;
	}
	for (size_t i = 0; i < count; i++) {
		struct span_ref *ref = &model->refs.items[unsorted[i].ref];

		model->attributes.items[ref->attributes + ref->attribute_count++] = unsorted[i];
	}
}

static void add_residency(struct model *model, thread_id thread, const struct context_stretch *s)
{
	struct span_ref *ref = &model->refs.items[s->context.ref];
	struct residency *residency = &model->residencies.items[ref->first_residency];
	nsec_t last = s->end;

	if (last == UINT64_MAX && model_thread(model, thread)->end > s->context.start)
		last = model_thread(model, thread)->end;
	if (!ref->first_residency || residency->thread.i != thread.i) {
		struct residency added = { s->context.start, last, thread, ref->first_residency };

		ref->first_residency = model->residencies.count;
		*vec_push(&model->residencies) = added;
	} else {
		residency->last = last;
	}
}

static void find_residencies(struct model *model)
{
	model->residencies.count = 1;
	for (size_t i = 0; i < model->refs.count; i++)
		model->refs.items[i].first_residency = 0;
	for (uint32_t i = model->threads.count - 1; i > 0; i--) {
		struct context_stretch s;

		for (bool more = model_context_from(model, (thread_id){ i }, 0, &s); more;
		     more = model_context_next(model, (thread_id){ i }, &s))
			if (s.context.ref)
				add_residency(model, (thread_id){ i }, &s);
	}
}

/* Numbers spans in depth-first order, so that a subtree is a range of numbers. */
static void number_spans(struct model *model)
{
	const struct span *spans = model->spans.items;
	uint32_t number = 0;

	model->ranges.count = 0;
	for (size_t i = 0; i < model->spans.count; i++)
		*vec_push(&model->ranges) = (struct span_range){ 0 };
	for (uint32_t top = 1; top < model->spans.count; top++) {
		uint32_t at = spans[top].parent.i ? 0 : top;

		while (at) {
			model->ranges.items[at].first = ++number;
			if (spans[at].first_child.i) {
				at = spans[at].first_child.i;
				continue;
			}
			while (at && !spans[at].next.i) {
				model->ranges.items[at].last = number;
				at = spans[at].parent.i;
			}
			model->ranges.items[at].last = number;
			at = spans[at].next.i;
		}
	}
}

void model_finish_contexts(struct model *model)
{
	for (size_t i = 1; i < model->threads.count; i++)
		if (model->threads.items[i].timelines[TIMELINE_CONTEXTS])
			resolve_timeline(model->threads.items[i].timelines[TIMELINE_CONTEXTS]);
	if (model->refs.count == 1)
		return;
	find_spans(model);
	drop_repeated_attributes(model);
	group_attributes(model);
	find_residencies(model);
	if (model->residencies.count > 1)
		number_spans(model);
}

const struct span_ref *model_span_ref(const struct model *model, uint32_t ref)
{
	return &model->refs.items[ref < model->refs.count ? ref : 0];
}

const struct residency *model_residency(const struct model *model, uint32_t residency)
{
	return &model->residencies.items[residency < model->residencies.count ? residency : 0];
}

bool model_span_is_within(const struct model *model, span_id id, span_id top)
{
	const struct span_range *ranges = model->ranges.items;

	if (!id.i || !top.i || id.i >= model->ranges.count || top.i >= model->ranges.count)
		return false;
	return ranges[top.i].first <= ranges[id.i].first && ranges[id.i].last <= ranges[top.i].last;
}

struct attributes model_span_attributes(const struct model *model, span_id id)
{
	const struct span_ref *ref = model_span_ref(model, model_span(model, id)->ref);

	if (!ref->attribute_count)
		return (struct attributes){ 0 };
	return (struct attributes){ model->attributes.items + ref->attributes,
				    ref->attribute_count };
}

struct attributes model_attributes(const struct model *model)
{
	return (struct attributes){ model->attributes.items, model->attributes.count };
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
