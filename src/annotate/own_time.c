/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/own_time.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/request_parts.h"
#include "base/sort.h"

enum { DEPTH_MAX = 64 }; /* ancestors of a span that can be its request */

typedef VEC(struct own_time) own_time_list;

struct own_search {
	const struct span_set *spans;
	const struct model *model;
	span_id id;
	const struct span *span;
	own_time_list found;
	own_time_list hidden; /* times of child spans; thread 0: on any thread */
};

void own_times_done(struct own_times *times)
{
	vec_done(&times->items);
}

static bool is_before(const struct own_time *a, const struct own_time *b)
{
	return a->thread.i != b->thread.i ? a->thread.i < b->thread.i : a->start < b->start;
}

/* Adds a time as far as it is in the span. */
static void add(struct own_search *s, thread_id thread, nsec_t start, nsec_t end)
{
	start = start > s->span->start ? start : s->span->start;
	end = end < s->span->end ? end : s->span->end;
	if (start < end)
		*vec_push(&s->found) = (struct own_time){ start, end, thread };
}

static bool has_contexts(const struct own_search *s, span_id id)
{
	return model_span_ref(s->model, span_set_at(s->spans, id)->ref)->first_residency;
}

static void add_contexts(struct own_search *s)
{
	uint32_t number = model_span_ref(s->model, s->span->ref)->first_residency;

	for (const struct residency *r; number; number = r->next) {
		struct context_stretch c;
		bool more;

		r = model_residency(s->model, number);
		more = model_context_from(s->model, r->thread, s->span->start, &c);
		for (; more && c.context.start < s->span->end;
		     more = model_context_next(s->model, r->thread, &c))
			if (c.context.ref == s->span->ref)
				add(s, r->thread, c.context.start, c.end);
	}
}

/* Whether a thread with this context can work for the span. */
static bool is_open_in(const struct own_search *s, const struct context *context, bool has_contexts)
{
	const struct span_ref *ref = model_span_ref(s->model, context->ref);

	if (context->flags & CONTEXT_UNKNOWN)
		return true;
	if (context->ref && !ref->span.i)
		return memcmp(ref->trace, s->span->trace, sizeof(ref->trace)) == 0;
	if (has_contexts)
		return false;
	return !context->ref || model_span_is_within(s->model, s->id, ref->span);
}

/* The time of a thread in which its context is unknown, or of no span that can be further inside.
 */
static void add_thread(struct own_search *s, thread_id thread, bool has_contexts)
{
	nsec_t from = s->span->start;
	struct context_stretch c;

	for (bool more = model_context_from(s->model, thread, from, &c);
	     more && c.context.start < s->span->end;
	     more = model_context_next(s->model, thread, &c)) {
		if (is_open_in(s, &c.context, has_contexts))
			continue;
		add(s, thread, from, c.context.start);
		from = c.end;
	}
	add(s, thread, from, s->span->end);
}

/* The span itself, or the request around it, for which slices are known; or none. */
static span_id slices_owner(const struct own_search *s)
{
	span_id id = s->id;

	for (size_t i = 0; i < DEPTH_MAX && id.i; i++, id = span_set_at(s->spans, id)->parent) {
		if (span_set_at(s->spans, id)->service.i != s->span->service.i)
			break;
		if (span_slice_of_span(&s->spans->slices, id, 0))
			return id;
	}
	return (span_id){ 0 };
}

static void add_slices(struct own_search *s, span_id id)
{
	const struct span_slices *slices = &s->spans->slices;
	const struct span_slice *end = slices->by_span.items + slices->by_span.count;
	const struct span_slice *at = span_slice_of_span(slices, id, s->span->start);

	for (; at && at < end && at->span.i == id.i && at->start < s->span->end; at++)
		add(s, at->thread, at->start, at->end);
}

/* The requests below the span, up to the next spans that a service exports. */
static void add_inferred(struct own_search *s)
{
	VEC(span_id) rest = { 0 };

	*vec_push(&rest) = s->id;
	while (rest.count) {
		span_id at = span_set_at(s->spans, rest.items[--rest.count])->first_child;

		for (; at.i; at = span_set_at(s->spans, at)->next) {
			if (span_set_at(s->spans, at)->source != SPAN_INFERRED)
				continue;
			add_slices(s, at);
			*vec_push(&rest) = at;
		}
	}
	vec_done(&rest);
}

/* Sorts; times that overlap or meet become one. */
static void unite(own_time_list *list)
{
	size_t kept = 0;

	sort_items(list->items, list->count, is_before);
	for (size_t i = 0; i < list->count; i++) {
		struct own_time time = list->items[i];
		struct own_time *last = kept ? &list->items[kept - 1] : NULL;

		if (!last || last->thread.i != time.thread.i || last->end < time.start)
			list->items[kept++] = time;
		else if (last->end < time.end)
			last->end = time.end;
	}
	list->count = kept;
}

/*
 * Child spans, on their thread, or on any one of the service.  If the contexts are known, those
 * without one: contexts show the others.
 */
static void hide_children(struct own_search *s, bool is_context_known)
{
	s->hidden.count = 0;
	for (span_id id = s->span->first_child; id.i; id = span_set_at(s->spans, id)->next) {
		const struct span *child = span_set_at(s->spans, id);

		if (child->source == SPAN_INFERRED || (is_context_known && has_contexts(s, id)) ||
		    (!child->thread.i && child->service.i != s->span->service.i))
			continue;
		if (child->start < child->end)
			*vec_push(&s->hidden) =
				(struct own_time){ child->start, child->end, child->thread };
	}
	unite(&s->hidden);
}

/* The first hidden time of a key that ends after t; its index. */
static size_t find_hidden(const struct own_search *s, thread_id key, nsec_t t)
{
	size_t low = 0, high = s->hidden.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct own_time *at = &s->hidden.items[middle];

		if (at->thread.i < key.i || (at->thread.i == key.i && at->end <= t))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Takes what is hidden on a thread, or with `on_any` on any one, out of the times. */
static void subtract(struct own_search *s, bool on_any)
{
	own_time_list before = s->found;

	s->found = (own_time_list){ 0 };
	for (size_t i = 0; i < before.count; i++) {
		struct own_time time = before.items[i];
		thread_id key = { on_any ? 0 : time.thread.i };

		for (size_t k = find_hidden(s, key, time.start); k < s->hidden.count; k++) {
			const struct own_time *hidden = &s->hidden.items[k];

			if (hidden->thread.i != key.i || hidden->start >= time.end)
				break;
			add(s, time.thread, time.start, hidden->start);
			time.start = hidden->end;
		}
		add(s, time.thread, time.start, time.end);
	}
	vec_done(&before);
}

/* Takes the time of child spans out of the times that were found, and appends the rest. */
static void move_found(struct own_search *s, bool is_context_known, struct own_times *to)
{
	unite(&s->found);
	hide_children(s, is_context_known);
	subtract(s, true);
	subtract(s, false);
	for (size_t i = 0; i < s->found.count; i++)
		*vec_push(&to->items) = s->found.items[i];
	s->found.count = 0;
}

void own_times_find(const struct span_set *spans, span_id span, struct own_times *ret)
{
	struct own_search s = {
		.spans = spans, .model = spans->model, .id = span, .span = span_set_at(spans, span)
	};
	_cleanup_(span_work_done) struct span_work work = { 0 };
	bool is_known = has_contexts(&s, span);
	span_id owner = is_known ? (span_id){ 0 } : slices_owner(&s);

	add_contexts(&s);
	move_found(&s, true, ret);
	if (owner.i) {
		add_slices(&s, owner);
		add_inferred(&s);
	} else {
		add_thread(&s, span_work_thread(&work, spans, span), is_known);
	}
	move_found(&s, false, ret);
	sort_items(ret->items.items, ret->items.count, is_before);
	vec_done(&s.found);
	vec_done(&s.hidden);
}
