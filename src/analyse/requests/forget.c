/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forget - drop what the finder no longer needs, so that it can run for ever.
 *
 * States refer to each other by index, so all that is left is numbered anew.  A reference that
 * means "this is being worked for" keeps its state: the current state of a thread, the requests
 * that it holds, the last request of a connection.  All other references become none if their state
 * is dropped.
 */
#include "analyse/requests/forget.h"

enum {
	PATIENCE = 6, /* windows after which a request or call without a reply is given up */
	COUNTS_MAX = 1 << 16, /* requests of a pool after which the old ones count half */
};

/* The request gets no reply any more. */
static void give_up(struct finder *f, uint32_t state)
{
	worker_release(f, state);
	state_at(f, state)->ended = state_at(f, state)->replied = true;
	f->counts.no_reply += !state_at(f, state)->is_returned;
	state_at(f, state)->is_returned = true;
}

void finder_drop_thread(struct finder *f, uint32_t thread)
{
	while (worker_of(f, thread)->held)
		give_up(f, worker_of(f, thread)->held);
	*worker_of(f, thread) = (struct worker){ 0 };
}

static void drop_threads(struct forgetting *g)
{
	for (uint32_t i = 1; i < g->f->workers.count; i++) {
		struct worker *w = worker_of(g->f, i);

		if (w->dispatcher && thread_is_gone(g->f, w->dispatcher, g->times->needs))
			w->dispatcher = 0;
		if (!thread_is_gone(g->f, i, g->times->needs))
			continue;
		finder_drop_thread(g->f, i);
	}
}

/* Requests and calls that had no reply for too long. */
static void lose_patience(struct forgetting *g)
{
	struct finder *f = g->f;
	nsec_t patience = PATIENCE * g->times->length;
	nsec_t t = g->times->now > patience ? g->times->now - patience : 0;

	for (uint32_t i = 1; i < f->states.count; i++) {
		const struct request_span *span = span_at(f, i);

		if (span->kind == REQUEST_NETWORK && !state_at(f, i)->replied && span->end < t)
			give_up(f, i);
	}
	for (uint32_t i = 1; i < f->sides.count; i++) {
		struct side *s = &f->sides.items[i];

		if ((s->awaits_reply || s->pending_for || s->caller) &&
		    (s->last_use < t ||
		     (s->caller && thread_is_gone(f, s->caller, g->times->needs))))
			side_end_call(f, s);
	}
}

/* From marks to new numbers. */
static void number(uint32_t *marks, size_t count)
{
	uint32_t next = 1;

	marks[0] = 0;
	for (size_t i = 1; i < count; i++)
		marks[i] = marks[i] ? next++ : 0;
}

static void renumber_owner(struct forgetting *g, struct owner *owner)
{
	owner->state = g->states[owner->state];
	owner->hypothesis = g->hypotheses[owner->hypothesis];
}

/* What a pool's work shows of its items goes on to count after it is dropped (match.c). */
static void count_dropped(struct forgetting *g, uint32_t i)
{
	const struct request_span *span = span_at(g->f, i);
	const struct work_state *work = state_at(g->f, i);
	uint32_t reader = span->kind == REQUEST_HANDOFF ? work->dispatcher : span->thread.i;
	struct pool_counts *counts = &worker_of(g->f, reader)->pool;

	if (!reader)
		return;
	pool_counts_add(counts, span, work);
	if (counts->requests > COUNTS_MAX)
		pool_counts_halve(counts);
}

/* The messages that show these are forgotten after this. */
static void state_outlive_messages(struct forgetting *g, uint32_t i)
{
	struct request_span *span = span_at(g->f, i);
	const struct request_span *completed = span_at(g->completed, i);
	struct work_state *work = state_at(g->f, i);

	if (work->last_reply && work->last_reply->time < g->times->needs) {
		reply_left(g->f, i);
		work->last_reply = NULL;
	}
	if (!work->received || work->owns_received || work->received->time >= g->times->needs)
		return;

	struct message *copy = must_alloc(sizeof(*copy));

	*copy = *work->received;
	work->received = copy;
	work->owns_received = true;
	if (work->is_linked)
		return;
	work->is_linked = true;
	span->is_client_recorded = completed->is_client_recorded;
	span->parent_unknown = completed->parent_unknown;
	if (completed->parent && completed->parent < g->f->states.count) {
		span->parent = completed->parent;
		span->confidence = completed->confidence;
	}
}

static void renumber_state(struct forgetting *g, struct request_span *span, struct work_state *work)
{
	span->parent = g->states[span->parent];
	work->stem = g->states[work->stem];
	work->prev = g->states[work->prev];
	work->next = g->states[work->next];
	work->handoff = g->states[work->handoff];
	work->origin = g->states[work->origin];
	work->part_of = g->states[work->part_of];
	if (work->dispatcher && thread_is_gone(g->f, work->dispatcher, g->times->needs))
		work->dispatcher = 0;
}

static void forget_states(struct forgetting *g)
{
	struct finder *f = g->f;

	for (uint32_t i = 1; i < f->states.count; i++)
		if (g->states[i])
			state_outlive_messages(g, i);
		else
			count_dropped(g, i);
	for (uint32_t i = 1; i < f->states.count; i++) {
		uint32_t to = g->states[i];

		if (!to) {
			state_free_received(state_at(f, i));
			continue;
		}
		renumber_state(g, span_at(f, i), state_at(f, i));
		*span_at(f, to) = *span_at(f, i);
		*state_at(f, to) = *state_at(f, i);
	}
}

static void forget_hypotheses(struct forgetting *g)
{
	struct finder *f = g->f;
	/* the nearest earlier one with the same owner that is left */
	_cleanup_(freep) uint32_t *same = must_alloc(f->hypotheses.count * sizeof(*same));

	for (uint32_t i = 1; i < f->hypotheses.count; i++) {
		struct hypothesis *h = &f->hypotheses.items[i];
		uint32_t to = g->hypotheses[i], state = h->state;

		h->same_as = same[h->same_as];
		same[i] = to ?: h->same_as;
		if (!to)
			continue;
		h->state = g->states[h->state];
		h->candidate = g->states[h->candidate];
		if (state && !h->state) {
			h->broken = true;
			h->same_as = 0;
		}
		for (size_t k = 0; k < h->candidate_count; k++)
			h->candidates[k] = g->states[h->candidates[k]];
		f->hypotheses.items[to] = *h;
	}
}

static void forget_calls(struct forgetting *g)
{
	struct finder *f = g->f;

	map_done(&f->sent);
	for (size_t i = 1; i < f->calls.count; i++) {
		struct sent_call *call = &f->calls.items[i];

		if (!g->calls[i])
			continue;
		renumber_owner(g, &call->owner);
		f->calls.items[g->calls[i]] = *call;
		*map_insert(&f->sent, (uintptr_t)call->sent) = g->calls[i];
	}
	for (size_t i = 1; i < f->client_calls.count; i++) {
		struct client_call *call = &f->client_calls.items[i];

		if (!g->client_calls[i])
			continue;
		call->side = g->sides[call->side];
		f->client_calls.items[g->client_calls[i]] = *call;
	}
}

static void forget_work(struct forgetting *g)
{
	struct finder *f = g->f;
	size_t count = 0;

	for (size_t i = 0; i < f->work.count; i++) {
		struct owned_work work = f->work.items[i];

		renumber_owner(g, &work.owner);
		if ((work.owner.state || work.owner.hypothesis) && work.to >= g->times->needs)
			f->work.items[count++] = work;
	}
	f->work.count = count;
	count = 0;
	for (size_t i = 0; i < f->replies.count; i++) {
		struct owned_reply reply = f->replies.items[i];

		renumber_owner(g, &reply.owner);
		if ((reply.owner.state || reply.owner.hypothesis) &&
		    reply.message->time >= g->times->needs)
			f->replies.items[count++] = reply;
	}
	f->replies.count = count;
}

static void forget_sides(struct forgetting *g)
{
	struct finder *f = g->f;

	map_done(&f->side_index);
	for (uint32_t i = 1; i < f->sides.count; i++) {
		struct side *s = &f->sides.items[i];

		if (!g->sides[i])
			continue;
		renumber_owner(g, &s->owner);
		renumber_owner(g, &s->connect_owner);
		s->connect_state = g->states[s->connect_state];
		s->pending_for = g->states[s->pending_for];
		s->acted_for = g->hypotheses[s->acted_for];
		s->call = g->client_calls[s->call];
		if (s->server_thread && thread_is_gone(f, s->server_thread, g->times->needs))
			s->server_thread = 0;
		if (s->received && s->received->time < g->times->needs)
			s->received = NULL;
		f->sides.items[g->sides[i]] = *s;
		*map_insert(&f->side_index, s->key) = g->sides[i];
	}
}

static void renumber_worker(struct forgetting *g, struct worker *w)
{
	w->current = g->states[w->current];
	w->held = g->states[w->held];
	w->last = g->states[w->last];
	w->result = g->states[w->result];
	w->doubtful = g->hypotheses[w->doubtful];
	w->hypothesis = g->hypotheses[w->hypothesis];
	w->burst_hypothesis = g->hypotheses[w->burst_hypothesis];
	w->partial = g->hypotheses[w->partial];
	w->read_side = g->sides[w->read_side];
	w->calling_side = g->sides[w->calling_side];

	size_t count = 0;

	for (size_t i = 0; i < w->batch_count; i++) {
		renumber_owner(g, &w->batch[i]);
		if (w->batch[i].state || w->batch[i].hypothesis)
			w->batch[count++] = w->batch[i];
	}
	w->batch_count = count;
}

static void forget_waits(struct forgetting *g)
{
	struct finder *f = g->f;
	size_t count = 1;

	map_done(&f->last_waits);
	for (size_t i = 1; i < f->waits.count; i++) {
		if (f->waits.items[i].end < g->times->needs)
			continue;
		*map_insert(&f->last_waits, f->waits.items[i].key) = count;
		f->waits.items[count++] = f->waits.items[i];
	}
	f->waits.count = count;
}

/* Drops the keys of processes that are not in `live`. */
static void forget_processes(struct map *processes, const struct map *live)
{
	struct map left = { 0 };
	uint64_t key, value;

	for (size_t pos = 0; map_next(processes, &pos, &key, &value);)
		if (map_find(live, key))
			*map_insert(&left, key) = value;
	map_done(processes);
	*processes = left;
}

/* Drops what was last observed before t: one that was misjudged is not so for ever. */
static void forget_observed(struct map *observed, nsec_t t)
{
	struct map left = { 0 };
	uint64_t key, value;

	for (size_t pos = 0; map_next(observed, &pos, &key, &value);)
		if (value >= t)
			*map_insert(&left, key) = value;
	map_done(observed);
	*observed = left;
}

static void forget_readers(struct forgetting *g)
{
	struct map left = { 0 };
	uint64_t key, value;

	for (size_t pos = 0; map_next(&g->f->readers, &pos, &key, &value);)
		if (!thread_is_gone(g->f, value, g->times->needs))
			*map_insert(&left, key) = value;
	map_done(&g->f->readers);
	g->f->readers = left;
}

static void forget_traits(struct finder *f, nsec_t t)
{
	struct map live = { 0 };

	for (uint32_t i = 1; i < model_thread_count(f->model); i++)
		if (!thread_of(f, i)->forgotten)
			*map_insert(&live, process_key(thread_of(f, i))) = 1;
	forget_processes(&f->services, &live);
	forget_processes(&f->conditions, &live);
	forget_processes(&f->gils, &live);
	forget_observed(&f->work_stealing, t);
	forget_observed(&f->shared_locks, t);
	map_done(&live);
}

static uint32_t last_number(const uint32_t *numbers, size_t count)
{
	while (count-- > 1)
		if (numbers[count])
			return numbers[count];
	return 0;
}

/* A burst of requests must not keep its memory: the window would stay short for lack of it. */
static void give_back(struct finder *f)
{
	vec_shrink(&f->states);
	vec_shrink(&f->out->spans);
	vec_shrink(&f->hypotheses);
	vec_shrink(&f->calls);
	vec_shrink(&f->client_calls);
	vec_shrink(&f->work);
	vec_shrink(&f->replies);
	vec_shrink(&f->sides);
	vec_shrink(&f->waits);
}

static void forget_all(struct forgetting *g)
{
	struct finder *f = g->f;

	number(g->states, f->states.count);
	number(g->hypotheses, f->hypotheses.count);
	number(g->sides, f->sides.count);
	number(g->calls, f->calls.count);
	number(g->client_calls, f->client_calls.count);
	forget_states(g);
	forget_hypotheses(g);
	forget_calls(g);
	forget_work(g);
	forget_sides(g);
	for (uint32_t i = 1; i < f->workers.count; i++)
		renumber_worker(g, worker_of(f, i));
	f->states.count = last_number(g->states, f->states.count) + 1;
	f->out->spans.count = f->states.count;
	f->hypotheses.count = last_number(g->hypotheses, f->hypotheses.count) + 1;
	f->calls.count = last_number(g->calls, f->calls.count) + 1;
	f->client_calls.count = last_number(g->client_calls, f->client_calls.count) + 1;
	f->sides.count = last_number(g->sides, f->sides.count) + 1;
	forget_waits(g);
	forget_traits(f, g->times->now > g->times->length ? g->times->now - g->times->length : 0);
	forget_readers(g);
	control_forget(&f->control, g->times->needs);
	give_back(f);
}

void finder_forget(struct finder *f, struct finder *completed, const struct forget_times *times)
{
	struct forgetting g = { .f = f, .completed = completed, .times = times };

	unread_note_readers(f);
	drop_threads(&g);
	lose_patience(&g);
	g.states = must_alloc(f->states.count * sizeof(uint32_t));
	g.hypotheses = must_alloc(f->hypotheses.count * sizeof(uint32_t));
	g.sides = must_alloc(f->sides.count * sizeof(uint32_t));
	g.calls = must_alloc(f->calls.count * sizeof(uint32_t));
	g.client_calls = must_alloc(f->client_calls.count * sizeof(uint32_t));
	forgetting_choose(&g);
	forget_all(&g);
	free(g.states);
	free(g.hypotheses);
	free(g.sides);
	free(g.calls);
	free(g.client_calls);
}
