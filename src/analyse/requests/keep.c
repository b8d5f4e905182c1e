/* SPDX-License-Identifier: Apache-2.0 */
/* keep - what the finder still needs: requests in flight, and those that ended a short time ago. */
#include "analyse/requests/forget.h"

/* The root of the tree that a state was found to be in. */
static uint32_t root_of(struct forgetting *g, uint32_t state)
{
	return span_at(g->completed, state_whole(g->completed, state))->root;
}

static bool is_recent(struct forgetting *g, uint32_t state)
{
	nsec_t end = span_at(g->completed, state)->end, t = g->times->needs;
	uint32_t root = root_of(g, state);

	if (end >= g->times->horizon)
		return true;
	/* part of a request that has not been returned yet */
	return end >= t && span_at(g->completed, root)->kind == REQUEST_NETWORK &&
	       !state_at(g->f, root)->is_returned;
}

/* Keeps a state and what it is work for. */
static void keep_state(struct forgetting *g, uint32_t state)
{
	while (state && !g->states[state]) {
		g->states[state] = 1;
		keep_state(g, state_at(g->f, state)->stem);
		state = span_at(g->f, state)->parent;
	}
}

static bool is_in_flight(struct finder *f, uint32_t state)
{
	return span_at(f, state)->kind == REQUEST_NETWORK && !state_at(f, state)->replied;
}

static void choose_sides(struct forgetting *g)
{
	struct finder *f = g->f;

	for (uint32_t i = 1; i < f->sides.count; i++) {
		const struct side *s = &f->sides.items[i];

		g->sides[i] = s->last_use >= g->times->needs || s->awaits_reply || s->pending_for ||
			      (s->owner.state && is_in_flight(f, s->owner.state));
		if (!g->sides[i])
			continue;
		if (s->role == ROLE_SERVER || s->awaits_reply)
			keep_state(g, s->owner.state);
		if (state_is_live(f, s->connect_owner.state))
			keep_state(g, s->connect_owner.state);
		keep_state(g, s->pending_for);
	}
}

static void choose_states(struct forgetting *g)
{
	struct finder *f = g->f;

	for (uint32_t i = 1; i < f->states.count; i++)
		if (is_in_flight(f, i) || is_recent(g, i))
			keep_state(g, i);
	for (uint32_t i = 1; i < f->workers.count; i++)
		keep_state(g, worker_of(f, i)->current);
}

/* No state of a thread is left when the model reuses its id. */
static void drop_gone(struct forgetting *g)
{
	for (uint32_t i = 1; i < g->f->states.count; i++)
		if (thread_is_gone(g->f, span_at(g->f, i)->thread.i, g->times->needs))
			g->states[i] = 0;
}

/* Whether something of an owner is still needed. */
static bool is_needed(struct forgetting *g, struct owner owner, nsec_t time)
{
	float confidence;
	uint32_t state;

	if (time < g->times->needs)
		return false;
	if (owner.state)
		return g->states[owner.state];
	state = owner_state(g->completed, owner, &confidence);
	return state ? g->states[state] : time >= g->times->horizon;
}

static void keep_hypothesis(struct forgetting *g, struct owner owner)
{
	g->hypotheses[owner.hypothesis] = 1;
}

static void choose_calls(struct forgetting *g)
{
	struct finder *f = g->f;

	for (size_t i = 1; i < f->calls.count; i++) {
		const struct sent_call *call = &f->calls.items[i];

		g->calls[i] = is_needed(g, call->owner, call->sent->time);
		if (g->calls[i])
			keep_hypothesis(g, call->owner);
	}
	for (size_t i = 1; i < f->client_calls.count; i++) {
		const struct client_call *call = &f->client_calls.items[i];
		const uint64_t *sent = map_find(&f->sent, (uintptr_t)call->sent);

		g->client_calls[i] = sent && g->calls[*sent] && g->sides[call->side];
	}
}

static void choose_hypotheses(struct forgetting *g)
{
	struct finder *f = g->f;

	for (size_t i = 0; i < f->work.count; i++)
		if (is_needed(g, f->work.items[i].owner, f->work.items[i].to))
			keep_hypothesis(g, f->work.items[i].owner);
	for (size_t i = 0; i < f->replies.count; i++)
		if (is_needed(g, f->replies.items[i].owner, f->replies.items[i].message->time))
			keep_hypothesis(g, f->replies.items[i].owner);
	for (uint32_t i = 1; i < f->sides.count; i++) {
		const struct side *s = &f->sides.items[i];

		if (!g->sides[i])
			continue;
		keep_hypothesis(g, s->owner);
		keep_hypothesis(g, s->connect_owner);
		g->hypotheses[s->acted_for] = 1;
	}
	for (uint32_t i = 1; i < f->workers.count; i++) {
		const struct worker *w = worker_of(f, i);

		g->hypotheses[w->doubtful] = g->hypotheses[w->hypothesis] =
			g->hypotheses[w->burst_hypothesis] = g->hypotheses[w->partial] = 1;
		for (size_t k = 0; k < w->batch_count; k++)
			keep_hypothesis(g, w->batch[k]);
	}
}

void forgetting_choose(struct forgetting *g)
{
	choose_states(g);
	choose_sides(g);
	drop_gone(g);
	choose_calls(g);
	choose_hypotheses(g);
}
