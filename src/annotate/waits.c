/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/waits.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/account.h"
#include "base/sort.h"

enum {
	LEAST_SHARE = 1000, /* of the time of the span: one in so many */
	ANCESTORS_MAX =
		64, /* inferred ones of a step's span: more would make long paths quadratic */
};

struct waits_builder {
	const struct span_set *spans;
	const struct model *model;
	const struct span *span;
	const struct path *path;
	const struct calls *calls; /* the first waits, in the same order */
	uint32_t *wait_of;         /* by step: index + 1 of its wait; 0 if it is none */
	/* by wait, and for the top at 0: index + 1 of its last children of two kinds */
	struct last_children {
		uint32_t last, other;
	} *last;
	VEC(struct wait) all;
};

void waits_done(struct waits *waits)
{
	vec_done(&waits->items);
}

/* Whether two waits are for the same thing. */
static bool is_same(const struct model *model, const struct step *a, const struct step *b)
{
	if (a->thread.i != b->thread.i || a->state != b->state || a->flags != b->flags)
		return false;

	const struct cause *x = account_step_cause(model, a), *y = account_step_cause(model, b);

	if (!x || !y)
		return x == y;
	return x->syscall == y->syscall && x->object == y->object &&
	       x->object_kind == y->object_kind;
}

/* The wait among the last children of a parent that is for the same thing; NULL if none is. */
static struct wait *find_same(struct waits_builder *b, struct last_children *last,
			      const struct step *s)
{
	uint32_t other = last->other;

	if (last->last && is_same(b->model, &b->all.items[last->last - 1].longest, s))
		return &b->all.items[last->last - 1];
	if (!other || !is_same(b->model, &b->all.items[other - 1].longest, s))
		return NULL;
	*last = (struct last_children){ .last = other, .other = last->last };
	return &b->all.items[other - 1];
}

static void add_calls(struct waits_builder *b)
{
	for (size_t i = 0; i < b->calls->items.count; i++) {
		const struct call *call = &b->calls->items.items[i];

		*vec_push(&b->all) = (struct wait){ .start = call->start,
						    .end = call->end,
						    .time = call->time,
						    .count = call->count,
						    .longest.thread = call->thread,
						    .call = *call };
	}
}

/* The call that a step at the top is part of, as index + 1; 0 if it is of none. */
static uint32_t call_of(const struct waits_builder *b, const struct step *s, nsec_t start,
			nsec_t end)
{
	if (!s->thread.i || s->flags & STEP_DERIVED)
		return 0;
	return calls_at(b->calls, b->model, s->thread, start, end);
}

/* Whether a step is the wait of a call, and then part of it. */
static bool add_to_call(struct waits_builder *b, struct wait *wait, const struct step *s,
			nsec_t time)
{
	const struct cause *cause = account_step_cause(b->model, s);

	if (!state_is_blocked(s->state) || !cause || cause->syscall != wait->call.nr)
		return false;
	if (!wait->longest.state || time > wait->longest.end - wait->longest.start)
		wait->longest = *s;
	wait->call_waits += time;
	return true;
}

static void add(struct waits_builder *b, uint32_t step, nsec_t start, nsec_t end)
{
	const struct step *s = &b->path->steps.items[step];
	uint32_t parent = s->parent ? b->wait_of[s->parent - 1] : call_of(b, s, start, end);

	if (!s->parent && parent && add_to_call(b, &b->all.items[parent - 1], s, end - start)) {
		b->wait_of[step] = parent;
		return;
	}

	struct last_children *last = &b->last[parent];
	struct wait *wait = find_same(b, last, s);

	if (!wait) {
		wait = vec_push(&b->all);
		*wait = (struct wait){ .start = start, .parent = parent, .longest = *s };
		*last = (struct last_children){ .last = b->all.count, .other = last->last };
	} else if (end - start > wait->longest.end - wait->longest.start) {
		wait->longest = *s;
	}
	wait->end = end;
	wait->time += end - start;
	wait->count++;
	b->wait_of[step] = last->last;
}

static bool is_wait(const struct step *s)
{
	return s->state != STATE_RUNNING && s->state != STATE_GAP && s->state;
}

/* Whether a step is of the span, or of a request below it, which no service exports. */
static bool is_of(const struct waits_builder *b, span_id at, span_id id)
{
	for (size_t i = 0; i < ANCESTORS_MAX && at.i && at.i != id.i; i++) {
		if (span_set_at(b->spans, at)->source != SPAN_INFERRED)
			return false;
		at = span_set_at(b->spans, at)->parent;
	}
	return at.i == id.i;
}

/* The steps that are waits of the span, clipped to its time. */
static void add_all(struct waits_builder *b, span_id id)
{
	for (uint32_t i = 0; i < b->path->steps.count; i++) {
		const struct step *s = &b->path->steps.items[i];
		nsec_t start = s->start > b->span->start ? s->start : b->span->start;
		nsec_t end = s->end < b->span->end ? s->end : b->span->end;

		if (is_of(b, s->span, id) && is_wait(s) && start < end &&
		    (!s->parent || b->wait_of[s->parent - 1]))
			add(b, i, start, end);
	}
}

struct ranked_wait {
	nsec_t time;
	uint32_t index;
};

static bool is_longer(const struct ranked_wait *a, const struct ranked_wait *b)
{
	return a->time != b->time ? a->time > b->time : a->index < b->index;
}

/*
 * Marks the longest waits.  A wait takes at least as long as what explains it and has a smaller
 * index, so a parent is always chosen before its children.
 */
static void choose(const struct waits_builder *b, size_t limit, bool *ret)
{
	size_t count = b->all.count;
	nsec_t least = (b->span->end - b->span->start) / LEAST_SHARE;
	_cleanup_(freep) struct ranked_wait *ranked = must_alloc((count + 1) * sizeof(*ranked));

	for (uint32_t i = 0; i < count; i++)
		ranked[i] = (struct ranked_wait){ b->all.items[i].time, i };
	sort_items(ranked, count, is_longer);
	for (size_t i = 0; i < count && limit; i++) {
		bool is_call = b->all.items[ranked[i].index].call.count;

		ret[ranked[i].index] = is_call || ranked[i].time >= least;
		limit -= ret[ranked[i].index];
	}
}

static void keep(struct waits_builder *b, size_t limit, struct waits *ret)
{
	size_t count = b->all.count;
	_cleanup_(freep) bool *chosen = must_alloc(count + 1);
	_cleanup_(freep) uint32_t *moved = must_alloc((count + 1) * sizeof(*moved));

	choose(b, limit, chosen);
	for (size_t i = 0; i < count; i++) {
		struct wait wait = b->all.items[i];

		if (!chosen[i] || (wait.parent && !moved[wait.parent - 1])) {
			*(wait.call.count ? &ret->calls_omitted : &ret->omitted) += wait.count;
			continue;
		}
		wait.parent = wait.parent ? moved[wait.parent - 1] : 0;
		*vec_push(&ret->items) = wait;
		moved[i] = ret->items.count;
	}
}

void waits_find(const struct span_set *spans, span_id span, const struct calls *calls, size_t limit,
		struct waits *ret)
{
	static const struct calls no_calls;
	_cleanup_(path_done) struct path path = { 0 };

	path_of_span(spans, span, &path);
	calls = calls ?: &no_calls;

	size_t count = path.steps.count + calls->items.count + 1;
	_cleanup_(freep) uint32_t *wait_of = must_alloc(count * sizeof(*wait_of));
	_cleanup_(freep) struct last_children *last = must_alloc(count * sizeof(*last));
	struct waits_builder b = { .spans = spans,
				   .model = spans->model,
				   .span = span_set_at(spans, span),
				   .path = &path,
				   .calls = calls,
				   .wait_of = wait_of,
				   .last = last };

	*ret = (struct waits){ .calls_omitted = calls->omitted };
	add_calls(&b);
	add_all(&b, span);
	keep(&b, limit, ret);
	vec_done(&b.all);
}
