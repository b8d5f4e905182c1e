/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context - which span each thread works for, over time; and attributes.
 *
 * Contexts and attributes name a span by its ids, and mostly before it is told
 * of, as that happens at its end; some never are.  So each span that is named gets
 * a number, its ref, which takes less room than ids; what a ref stands for is
 * found when all is told.
 *
 * A context that was told is exact.  One that was seen when its thread left the
 * CPU came into force at some time since the thread had got the CPU: of that
 * time nothing is known.  So a thread is never said to work for a span for
 * which it may not have worked.  What is told may come later than what is seen,
 * and then leaves no doubt; so contexts are kept as they come, and settled when all
 * are there.
 */
#include <string.h>

#include "model/model_parts.h"

static uint32_t ref_of(struct model *model, const uint8_t trace[16], const uint8_t id[8])
{
	static const uint8_t none[8];
	uint64_t *at;

	if (memcmp(id, none, sizeof(none)) == 0)
		return 0;
	at = map_insert(&model->ref_index, span_hash(trace, id));
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

void context_add(struct model *model, const struct source *source, const struct record_context *r)
{
	nsec_t now = source_time(source, r->head.time);
	thread_id id = find_thread(model, source->host, r->head.tid, now);

	if (!id.i)
		id = thread_of(model, source, r->head.tid, now);

	struct line *line =
		thread_line(thread_at(model, id), LINE_CONTEXTS, sizeof(struct context));

	if (r->flags & CONTEXT_SEEN && r->since < r->head.time)
		*(struct context *)line_push(line) =
			(struct context){ .start = source_time(source, r->since),
					  .flags = CONTEXT_DOUBT };
	*(struct context *)line_push(line) = (struct context){
		.start = now,
		.ref = r->flags & CONTEXT_UNKNOWN ? 0 : ref_of(model, r->trace, r->span),
		.flags = r->flags & (CONTEXT_UNKNOWN | CONTEXT_SEEN),
	};
}

void attribute_add(struct model *model, const struct source *source,
		   const struct record_attribute *r)
{
	uint32_t ref = ref_of(model, r->trace, r->span);

	if (ref)
		*vec_push(&model->attributes) = (struct attribute){
			.value = r->type == ATTRIBUTE_STRING
					 ? take_string(model, source, r->value).i
					 : r->value,
			.ref = ref,
			.key = take_string(model, source, r->key),
			.type = r->type,
		};
}

struct ranked {
	struct context context;
	size_t order;
};

static int by_start(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->context.start != y->context.start)
		return x->context.start < y->context.start ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

static void sort_line(struct line *line)
{
	_cleanup_(freep) struct ranked *all = must_alloc(line_count(line) * sizeof(*all));
	size_t count = 0;
	line_pos pos;

	for (bool more = line_first(line, &pos); more; more = line_next(line, &pos), count++)
		all[count] = (struct ranked){ *(struct context *)line_at(line, pos), count };
	qsort(all, count, sizeof(*all), by_start);
	count = 0;
	for (bool more = line_first(line, &pos); more; more = line_next(line, &pos))
		*(struct context *)line_at(line, pos) = all[count++].context;
}

static bool is_sorted(const struct line *line)
{
	nsec_t last = 0;
	line_pos pos;

	for (bool more = line_first(line, &pos); more; more = line_next(line, &pos)) {
		const struct context *context = line_at(line, pos);

		if (context->start < last)
			return false;
		last = context->start;
	}
	return true;
}

/* A line that is written over itself: what is known takes no more room than what was told. */
struct settling {
	struct line *line;
	line_pos end;         /* of what is written */
	struct context *last; /* of that, or NULL */
	bool doubts;          /* since then it is not known what holds */
	nsec_t since;
};

/* What begins when another does takes its place; what says nothing new is left out. */
static void put(struct settling *s, struct context context)
{
	if (s->last && s->last->start >= context.start) {
		context.start = s->last->start;
		*s->last = context;
	} else if (!s->last || s->last->ref != context.ref || s->last->flags != context.flags) {
		s->last = line_at(s->line, s->end);
		*s->last = context;
		if (!line_next(s->line, &s->end))
			s->end.item++;
	}
}

/* What is seen says nothing of the time before, unless it is what was told. */
static void put_seen(struct settling *s, struct context context)
{
	bool is_known = !(context.flags & CONTEXT_UNKNOWN);
	bool was_known = s->last && !(s->last->flags & CONTEXT_UNKNOWN);

	if (!is_known || !was_known || s->last->ref != context.ref) {
		if (s->doubts)
			put(s, (struct context){ .start = s->since, .flags = CONTEXT_UNKNOWN });
		context.flags = is_known ? CONTEXT_SEEN : CONTEXT_UNKNOWN;
		put(s, context);
	}
	s->doubts = false;
}

static void settle_line(struct line *line)
{
	struct settling s = { .line = line };
	line_pos pos;

	if (!is_sorted(line)) /* what is told may be recorded later than what is seen */
		sort_line(line);
	for (bool more = line_first(line, &pos); more; more = line_next(line, &pos)) {
		struct context context = *(const struct context *)line_at(line, pos);

		if (context.flags & CONTEXT_SEEN) {
			put_seen(&s, context);
			continue;
		}
		s.doubts |= context.flags & CONTEXT_DOUBT;
		s.since = context.start; /* what is told is not in doubt until then */
		if (!(context.flags & CONTEXT_DOUBT))
			put(&s, context);
	}
	line_cut(line, s.end);
}

static void find_spans(struct model *model)
{
	for (uint32_t i = 1; i < model->refs.count; i++) {
		struct span_ref *ref = &model->refs.items[i];
		const uint64_t *span = map_find(&model->span_index, span_hash(ref->trace, ref->id));

		ref->span = (span_id){ span ? *span : 0 };
		if (span)
			model->spans.items[*span].ref = i;
	}
}

/* A span told of twice has its attributes twice: as with spans, what came first is taken. */
static void drop_told_again(struct model *model)
{
	struct map told = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < model->attributes.count; i++) {
		struct attribute attribute = model->attributes.items[i];
		uint64_t *again =
			map_insert(&told, (uint64_t)attribute.ref << 32 | attribute.key.i);

		if (!*again)
			model->attributes.items[kept++] = attribute;
		*again = true;
	}
	model->attributes.count = kept;
	map_done(&told);
}

/* Those of one span side by side, in the order in which they were told. */
static void place_attributes(struct model *model)
{
	size_t count = model->attributes.count;
	_cleanup_(freep) struct attribute *told = must_alloc((count + 1) * sizeof(*told));
	uint32_t at = 0;

	if (count)
		memcpy(told, model->attributes.items, count * sizeof(*told));
	for (size_t i = 0; i < model->refs.count; i++)
		model->refs.items[i].attribute_count = 0;
	for (size_t i = 0; i < count; i++)
		model->refs.items[told[i].ref].attribute_count++;
	for (size_t i = 0; i < model->refs.count; i++) {
		model->refs.items[i].attributes = at;
		at += model->refs.items[i].attribute_count;
		model->refs.items[i].attribute_count = 0;
	}
	for (size_t i = 0; i < count; i++) {
		struct span_ref *ref = &model->refs.items[told[i].ref];

		model->attributes.items[ref->attributes + ref->attribute_count++] = told[i];
	}
}

static void add_stay(struct model *model, thread_id thread, const struct context_stretch *s)
{
	struct span_ref *ref = &model->refs.items[s->context.ref];
	struct stay *stay = &model->stays.items[ref->first_stay];
	nsec_t last = s->end;

	if (last == UINT64_MAX && model_thread(model, thread)->end > s->context.start)
		last = model_thread(model, thread)->end;
	if (!ref->first_stay || stay->thread.i != thread.i) {
		struct stay added = { s->context.start, last, thread, ref->first_stay };

		ref->first_stay = model->stays.count;
		*vec_push(&model->stays) = added;
	} else {
		stay->last = last;
	}
}

static void find_stays(struct model *model)
{
	model->stays.count = 1;
	for (size_t i = 0; i < model->refs.count; i++)
		model->refs.items[i].first_stay = 0;
	for (uint32_t i = model->threads.count - 1; i > 0; i--) {
		struct context_stretch s;

		for (bool more = model_context_from(model, (thread_id){ i }, 0, &s); more;
		     more = model_context_next(model, (thread_id){ i }, &s))
			if (s.context.ref)
				add_stay(model, (thread_id){ i }, &s);
	}
}

/* From the top down, children before siblings. */
static void find_places(struct model *model)
{
	const struct span *spans = model->spans.items;
	uint32_t number = 0;

	model->places.count = 0;
	for (size_t i = 0; i < model->spans.count; i++)
		*vec_push(&model->places) = (struct place){ 0 };
	for (uint32_t top = 1; top < model->spans.count; top++) {
		uint32_t at = spans[top].parent.i ? 0 : top;

		while (at) {
			model->places.items[at].first = ++number;
			if (spans[at].first_child.i) {
				at = spans[at].first_child.i;
				continue;
			}
			while (at && !spans[at].next.i) {
				model->places.items[at].last = number;
				at = spans[at].parent.i;
			}
			model->places.items[at].last = number;
			at = spans[at].next.i;
		}
	}
}

void contexts_finish(struct model *model)
{
	for (size_t i = 1; i < model->threads.count; i++)
		if (model->threads.items[i].lines[LINE_CONTEXTS])
			settle_line(model->threads.items[i].lines[LINE_CONTEXTS]);
	if (model->refs.count == 1)
		return;
	find_spans(model);
	drop_told_again(model);
	place_attributes(model);
	find_stays(model);
	if (model->stays.count > 1)
		find_places(model);
}

const struct span_ref *model_span_ref(const struct model *model, uint32_t ref)
{
	return &model->refs.items[ref < model->refs.count ? ref : 0];
}

const struct stay *model_stay(const struct model *model, uint32_t stay)
{
	return &model->stays.items[stay < model->stays.count ? stay : 0];
}

bool model_span_is_within(const struct model *model, span_id id, span_id top)
{
	const struct place *places = model->places.items;

	if (!id.i || !top.i || id.i >= model->places.count || top.i >= model->places.count)
		return false;
	return places[top.i].first <= places[id.i].first && places[id.i].last <= places[top.i].last;
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

static void context_fill(const struct line *line, line_pos pos, struct context_stretch *ret)
{
	ret->context = *(const struct context *)line_at(line, pos);
	ret->pos = pos;
	ret->end = line_next(line, &pos) ? ((const struct context *)line_at(line, pos))->start
					 : UINT64_MAX;
}

bool model_context_from(const struct model *model, thread_id id, nsec_t t,
			struct context_stretch *ret)
{
	const struct line *line = model_thread(model, id)->lines[LINE_CONTEXTS];
	line_pos pos;

	if (!line || (!line_find(line, t, &pos) && !line_first(line, &pos)))
		return false;
	context_fill(line, pos, ret);
	return true;
}

bool model_context_next(const struct model *model, thread_id id, struct context_stretch *s)
{
	const struct line *line = model_thread(model, id)->lines[LINE_CONTEXTS];

	if (!line_next(line, &s->pos))
		return false;
	context_fill(line, s->pos, s);
	return true;
}
