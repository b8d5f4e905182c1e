/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/span_work.h"

#include <string.h>

/* A thread that works for the span at times, and its current or next such period. */
struct span_lane {
	thread_id thread;
	nsec_t start, end; /* start is UINT64_MAX if there is no further one */
	struct context_stretch at;
	bool more; /* whether `at` is a context that is not examined yet */
};

struct span_work_search {
	const struct model *model;
	const struct span_set *spans;
	span_id span;
	struct span_lanes *threads; /* borrowed */
	nsec_t to;
	VEC(struct span_lane) lanes;
	struct span_work *work;
};

void span_work_done(struct span_work *work)
{
	vec_done(&work->items);
	map_done(&work->threads);
	for (size_t i = 0; i < work->lanes.count; i++)
		span_lanes_done(&work->lanes.items[i]);
	vec_done(&work->lanes);
	map_done(&work->lane_index);
}

static void push(struct span_work *work, nsec_t start, nsec_t end, thread_id thread, uint32_t other)
{
	struct span_part *last =
		work->items.count ? &work->items.items[work->items.count - 1] : NULL;

	if (start >= end)
		return;
	if (last && last->end == start && last->thread.i == thread.i && last->other == other)
		last->end = end;
	else
		*vec_push(&work->items) = (struct span_part){
			.start = start, .end = end, .thread = thread, .other = other
		};
}

/* Moves on to the thread's next period in the span or its descendants. */
static void lane_next(const struct span_work_search *s, struct span_lane *lane)
{
	lane->start = UINT64_MAX;
	for (; lane->more && lane->at.context.start < s->to;
	     lane->more = model_context_next(s->model, lane->thread, &lane->at)) {
		span_id span = model_span_ref(s->model, lane->at.context.ref)->span;

		if (!model_span_is_within(s->model, span, s->span)) {
			if (lane->start < UINT64_MAX)
				return;
			continue;
		}
		if (lane->start == UINT64_MAX)
			lane->start = lane->at.context.start;
		lane->end = lane->at.end;
	}
}

static struct span_lanes *lanes_of(struct span_work *work, const struct model *model, span_id span)
{
	uint64_t *at = map_insert(&work->lane_index, span.i);

	if (!*at) {
		span_lanes_init(vec_push(&work->lanes), model, span);
		*at = work->lanes.count;
	}
	return &work->lanes.items[*at - 1];
}

static void find_lanes(struct span_work_search *s, nsec_t from)
{
	span_lanes_take(s->threads, s->model, from, s->to);
	for (size_t i = 0; i < s->threads->taken.count; i++) {
		uint32_t number = s->threads->taken.items[i];
		struct span_lane lane = { .thread = s->threads->all.items[number]->thread };

		lane.more = model_context_from(s->model, lane.thread, from, &lane.at);
		lane_next(s, &lane);
		if (lane.start < UINT64_MAX)
			*vec_push(&s->lanes) = lane;
	}
}

/* Stores the result for each span on the way up, so that a deep trace is walked once. */
thread_id span_work_thread(struct span_work *work, const struct span_set *spans, span_id id)
{
	thread_id found = { 0 };
	span_id top = id;

	for (; top.i && !found.i; top = span_set_at(spans, top)->parent) {
		const uint64_t *known = map_find(&work->threads, top.i);

		if (known) {
			found.i = *known;
			break;
		}
		if (model_thread_is_followed(spans->model, span_set_at(spans, top)->thread))
			found = span_set_at(spans, top)->thread;
	}
	for (; id.i != top.i; id = span_set_at(spans, id)->parent)
		*map_insert(&work->threads, id.i) = found.i;
	return found;
}

/* The thread in the span at time t: preferably `now`, the current one. */
static const struct span_lane *lane_at(const struct span_work_search *s, nsec_t t, thread_id now)
{
	const struct span_lane *found = NULL;

	for (size_t i = 0; i < s->lanes.count; i++) {
		const struct span_lane *lane = &s->lanes.items[i];

		if (lane->start <= t && t < lane->end && (!found || lane->thread.i == now.i))
			found = lane;
	}
	return found;
}

/* The thread that enters the span next; NULL if none will. */
static const struct span_lane *lane_after(const struct span_work_search *s)
{
	const struct span_lane *found = NULL;

	for (size_t i = 0; i < s->lanes.count; i++)
		if (s->lanes.items[i].start < (found ? found->start : s->to))
			found = &s->lanes.items[i];
	return found;
}

/* The span that a thread works for instead; 0 if it can be this one. */
static uint32_t other_span(const struct span_work_search *s, const struct context *context)
{
	const struct span_ref *ref = model_span_ref(s->model, context->ref);
	bool is_outside =
		context->start < s->threads->entered || context->start >= s->threads->left;

	if (!context->ref || model_span_is_within(s->model, ref->span, s->span))
		return 0;
	if (!ref->span.i)
		return memcmp(ref->trace, span_set_at(s->spans, s->span)->trace,
			      sizeof(ref->trace)) == 0
			       ? 0
			       : context->ref;
	if (is_outside && model_span_is_within(s->model, s->span, ref->span))
		return 0;
	return context->ref;
}

/* Adds what a thread does while no thread is in the span. */
static void add_pause(struct span_work_search *s, thread_id thread, nsec_t from, nsec_t to)
{
	struct context_stretch c;

	for (bool more = model_context_from(s->model, thread, from, &c); more && from < to;
	     more = model_context_next(s->model, thread, &c)) {
		nsec_t start = c.context.start < to ? c.context.start : to;
		nsec_t end = c.end < to ? c.end : to;

		if (from < start) { /* before its first context, unknown */
			push(s->work, from, start, thread, 0);
			from = start;
		}
		push(s->work, from, end, thread, other_span(s, &c.context));
		from = end;
	}
	push(s->work, from, to, thread, 0);
}

/* Adds the time from t on in which no thread is in the span; returns its end. */
static nsec_t pass_pause(struct span_work_search *s, thread_id now, nsec_t t)
{
	const struct span_lane *next = lane_after(s);
	nsec_t until = next ? next->start : s->to, begin;

	if (next) {
		begin = model_thread(s->model, next->thread)->begin;
		if (begin <= t)
			now = next->thread;
		else if (begin < until)
			until = begin; /* until then, the thread that creates it counts */
	}
	add_pause(s, now, t, until);
	return until;
}

static void follow(struct span_work_search *s, nsec_t from)
{
	thread_id now = span_lanes_last(s->threads, s->model);

	if (!now.i)
		now = span_work_thread(s->work, s->spans, s->span);

	while (from < s->to) {
		const struct span_lane *lane = lane_at(s, from, now);

		if (lane) {
			nsec_t end = lane->end < s->to ? lane->end : s->to;

			now = lane->thread;
			push(s->work, from, end, now, 0);
			from = end;
		} else {
			from = pass_pause(s, now, from);
		}
		for (size_t i = 0; i < s->lanes.count; i++)
			while (s->lanes.items[i].start < UINT64_MAX &&
			       s->lanes.items[i].end <= from)
				lane_next(s, &s->lanes.items[i]);
	}
}

void span_work_find(const struct span_set *spans, span_id span, nsec_t from, nsec_t to,
		    struct span_work *ret)
{
	struct span_work_search s = {
		.model = spans->model, .spans = spans, .span = span, .to = to, .work = ret
	};

	if (span_set_at(spans, span)->ref)
		s.threads = lanes_of(ret, spans->model, span);
	if (s.threads && s.threads->all.count) {
		find_lanes(&s, from);
		follow(&s, from);
	} else {
		push(ret, from, to, span_work_thread(ret, spans, span), 0);
	}
	vec_done(&s.lanes);
}
