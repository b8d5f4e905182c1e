/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/requests/window.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/requests/internal.h"
#include "analyse/requests/spans.h"
#include "analyse/requests/window_spans.h"

/* Requests that ended this long ago show what later ones waited for. */
static const nsec_t keep_ended = NSEC_PER_SEC;

struct request_window {
	nsec_t length;
	struct finder finder;
	struct requests base; /* spans of the finder, before they are completed */
	struct returned_spans returned;
	nsec_t until; /* time up to which events are processed */
	nsec_t needs;
};

struct request_window *request_window_new(nsec_t length)
{
	struct request_window *w = must_alloc(sizeof(*w));

	w->length = length;
	return w;
}

void request_window_keep_all(struct request_window *w)
{
	w->returned.has_joined = true;
}

void request_window_free(struct request_window *w)
{
	if (!w)
		return;
	finder_done(&w->finder);
	requests_done(&w->base);
	returned_spans_done(&w->returned);
	free(w);
}

void request_window_set_length(struct request_window *w, nsec_t length)
{
	w->length = length;
}

void request_batch_done(struct request_batch *batch)
{
	span_set_done(&batch->spans);
	requests_done(&batch->requests);
	vec_done(&batch->ended);
	vec_done(&batch->in_flight);
}

nsec_t request_window_needs(const struct request_window *w)
{
	return w->needs;
}

struct request_counts request_window_counts(const struct request_window *w)
{
	return w->finder.counts;
}

#define VEC_COPY(to, from) \
	do { \
		(to)->count = (to)->room = (from)->count; \
		(to)->items = must_realloc(NULL, (from)->count * sizeof((from)->items[0])); \
		memcpy((to)->items, (from)->items, (from)->count * sizeof((from)->items[0])); \
	} while (0)

/*
 * Completes a copy of the finder.  Only spans and states of the copy are its own, as completing
 * changes nothing else, except that it appends work.
 */
static void complete(struct request_window *w, struct finder *copy, struct requests *ret)
{
	size_t work = w->finder.work.count;

	*copy = w->finder;
	*ret = (struct requests){ 0 };
	copy->out = ret;
	VEC_COPY(&ret->spans, &w->base.spans);
	VEC_COPY(&copy->states, &w->finder.states);
	finder_complete(copy);
	w->finder.work = copy->work; /* it can have moved */
	w->finder.work.count = work;
	copy->work.count = work;
}

/* Whether a thread can still work for a span, or a reply to it come. */
static bool is_open(struct finder *f, uint32_t state)
{
	const struct request_span *span = span_at(f, state);

	switch (span->kind) {
	case REQUEST_NETWORK:
		return !state_at(f, state)->replied;
	case REQUEST_HANDOFF:
	case REQUEST_FORK:
		return worker_of(f, span->thread.i)->current == state;
	default:
		return false;
	}
}

/* A slice on a CPU is recorded when it ends, but the messages of the thread at once. */
static bool is_running_on(struct finder *f, const struct request_span *span)
{
	const struct thread *thread = model_thread(f->model, span->thread);

	return !thread->exited && thread->end < span->end;
}

static bool has_open_part(struct finder *f, uint32_t root)
{
	for (uint32_t i = root; i; i = requests_next(f->out, root, i, NULL))
		if (is_running_on(f, span_at(f, i)) || (i < f->states.count && is_open(f, i)))
			return true;
	return false;
}

/* Whether the end of a reply is unknown, because a part of it is in the send buffer. */
static bool is_held(const struct work_state *work)
{
	const struct message *m = work->last_reply;

	return m && m->flags & MESSAGE_HELD && !m->wire_time && !m->other.i;
}

static bool is_settled(struct finder *f, uint32_t root, nsec_t until)
{
	const struct request_span *span = span_at(f, root);
	const struct work_state *work = state_at(f, root);

	if (!work->replied || span->end > until)
		return false;

	nsec_t age = until - span->end;

	if (span->parent_unknown)
		return age >= REQUEST_REACH;
	if (age >= REQUEST_SETTLED)
		return true;
	return (age >= REQUEST_QUIET || work->next_arrival) && !is_held(work) &&
	       !has_open_part(f, root);
}

/* Marks a tree, so that none of its parts is returned again. */
static void mark_returned(struct request_window *w, struct finder *copy, uint32_t root)
{
	struct finder *f = &w->finder;
	const struct request_span *span = span_at(copy, root);

	for (uint32_t i = root; i; i = requests_next(copy->out, root, i, NULL))
		if (i < f->states.count)
			state_at(f, i)->is_returned = true;
	f->counts.ended++;
	f->counts.truncated += span->start < w->needs;
}

static nsec_t before(nsec_t t, nsec_t by)
{
	return t > by ? t - by : 0;
}

static nsec_t least(nsec_t a, nsec_t b)
{
	return a < b ? a : b;
}

static nsec_t most(nsec_t a, nsec_t b)
{
	return a > b ? a : b;
}

static void choose_roots(struct request_window *w, struct finder *copy, struct root_choice *ret)
{
	const struct requests *requests = copy->out;

	for (size_t i = 0; i < requests->roots.count; i++) {
		uint32_t root = requests->roots.items[i];

		if (state_at(&w->finder, root)->is_returned)
			continue;
		ret->since = least(ret->since, span_at(copy, root)->start);
		if (is_settled(copy, root, w->until)) {
			*vec_push(&ret->settled) = root;
			mark_returned(w, copy, root);
			continue;
		}
		ret->earliest = least(ret->earliest, span_at(copy, root)->start);
		if (span_at(copy, root)->start >= before(w->until, REQUEST_REACH))
			ret->recent = least(ret->recent, span_at(copy, root)->start);
		if (!state_at(copy, root)->replied && !span_at(copy, root)->parent_unknown)
			*vec_push(&ret->in_flight) = root;
	}
}

static void forget(struct request_window *w, struct finder *copy, const struct root_choice *choice)
{
	nsec_t horizon = least(before(w->until, keep_ended), choice->recent);
	nsec_t needs = most(before(w->until, w->length), least(horizon, choice->earliest));

	w->needs = most(w->needs, needs);
	finder_forget(&w->finder, copy,
		      &(struct forget_times){ .now = w->until,
					      .horizon = most(horizon, w->needs),
					      .needs = w->needs,
					      .length = w->length });
	returned_spans_rotate(&w->returned, w->until, w->length);
}

static void begin(struct request_window *w, const struct model *model)
{
	if (!w->base.spans.count)
		finder_init(&w->finder, model, &w->base);
	w->finder.model = model;
}

static void advance(struct request_window *w, const struct model *model, struct request_batch *ret)
{
	struct finder copy;
	struct root_choice choice = { .earliest = UINT64_MAX,
				      .recent = UINT64_MAX,
				      .since = before(w->until, REQUEST_REACH) };

	*ret = (struct request_batch){ .spans.model = model };
	finder_process(&w->finder, w->until);
	complete(w, &copy, &ret->requests);
	choose_roots(w, &copy, &choice);
	unread_add(&copy, model_end(model), &choice.in_flight);
	if (w->until < UINT64_MAX)
		forget(w, &copy, &choice);
	vec_done(&copy.states);
	window_spans_add(&w->returned, w->until, &choice, ret);
	vec_done(&choice.settled);
	vec_done(&choice.in_flight);
}

void request_window_advance(struct request_window *w, const struct model *model, nsec_t now,
			    struct request_batch *ret)
{
	begin(w, model);
	w->until = most(w->until, before(now, REQUEST_LAG));
	advance(w, model, ret);
}

void request_window_finish(struct request_window *w, const struct model *model,
			   struct request_batch *ret)
{
	begin(w, model);
	w->until = UINT64_MAX;
	advance(w, model, ret);
	w->finder.counts.no_reply += ret->in_flight.count;
}

size_t request_window_memory(const struct request_window *w)
{
	const struct finder *f = &w->finder;

	return sizeof(*w) + f->states.room * sizeof(f->states.items[0]) +
	       w->base.spans.room * sizeof(w->base.spans.items[0]) +
	       f->sides.room * sizeof(f->sides.items[0]) +
	       f->hypotheses.room * sizeof(f->hypotheses.items[0]) +
	       f->calls.room * sizeof(f->calls.items[0]) + f->work.room * sizeof(f->work.items[0]) +
	       f->replies.room * sizeof(f->replies.items[0]) +
	       f->client_calls.room * sizeof(f->client_calls.items[0]) +
	       f->workers.room * (sizeof(struct worker) + sizeof(struct occurrence_cursor)) +
	       f->waits.room * sizeof(f->waits.items[0]) +
	       (f->side_index.room + f->sent.room + f->last_waits.room + f->shared_locks.room) *
		       sizeof(struct map_slot);
}
