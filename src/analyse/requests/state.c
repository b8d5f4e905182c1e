/* SPDX-License-Identifier: Apache-2.0 */
/* state - what threads work for, and when. */
#include "analyse/requests/internal.h"

uint32_t state_add(struct finder *f, enum request_kind kind, uint32_t thread, uint32_t parent,
		   nsec_t start)
{
	*vec_push(&f->out->spans) = (struct request_span){
		.parent = parent,
		.thread = { thread },
		.start = start,
		.end = start,
		.confidence = 1,
		.kind = kind,
	};
	*vec_push(&f->states) =
		(struct work_state){ .stem = kind == REQUEST_FORK ? state_stem(f, parent) : 0 };
	return f->out->spans.count - 1;
}

void state_free_received(struct work_state *state)
{
	if (state->owns_received)
		free((void *)state->received);
	state->received = NULL;
	state->owns_received = false;
}

uint32_t state_stem(struct finder *f, uint32_t state)
{
	return span_at(f, state)->kind == REQUEST_FORK ? state_at(f, state)->stem : state;
}

uint32_t state_request(struct finder *f, uint32_t state)
{
	for (state = state_stem(f, state); state_is_handoff(f, state);
	     state = state_stem(f, span_at(f, state)->parent))
		;
	return state;
}

bool state_is_live(struct finder *f, uint32_t state)
{
	state = state_stem(f, state);
	if (!state || state_at(f, state)->ended)
		return false;
	/* the request of a handoff can be unknown yet: the handoff lasts until it visibly ends */
	return state_is_handoff(f, state) || !state_at(f, state)->replied;
}

void state_extend(struct finder *f, uint32_t state, nsec_t t)
{
	if (state && span_at(f, state)->end < t)
		span_at(f, state)->end = t;
}

static void add_work(struct finder *f, struct owner owner, uint32_t thread, nsec_t from, nsec_t to)
{
	if (from < to)
		*vec_push(&f->work) = (struct owned_work){ owner, { thread }, from, to };
}

/* The end of the current stretch of work. */
static nsec_t stretch_end(const struct worker *w, nsec_t now)
{
	/* an event loop that only polled and then got something else did not work for the owner */
	return w->polled > w->since && w->polled < now && w->held_count ? w->polled : now;
}

static void end_stretch(struct finder *f, uint32_t thread, nsec_t now)
{
	struct worker *w = worker_of(f, thread);
	struct owner owner = { w->current, w->current ? 0 : w->doubtful };

	if (!owner.state && !owner.hypothesis)
		return;
	add_work(f, owner, thread, w->since, stretch_end(w, now));
	if (w->current) {
		w->last = w->current;
		w->free_since = now;
	}
}

void worker_add_open_work(struct finder *f, uint32_t thread, nsec_t now)
{
	const struct worker *w = worker_of(f, thread);

	if (w->current)
		add_work(f, (struct owner){ .state = w->current }, thread, w->since,
			 stretch_end(w, now));
}

void worker_set_current(struct finder *f, uint32_t thread, uint32_t state, nsec_t now)
{
	struct worker *w = worker_of(f, thread);

	w->acted = false;
	if (w->current == state && (state || !w->doubtful))
		return;
	end_stretch(f, thread, now);
	w->current = state;
	w->doubtful = 0;
	w->since = now;
}

void worker_set_doubtful(struct finder *f, uint32_t thread, uint32_t hypothesis, nsec_t now)
{
	worker_set_current(f, thread, 0, now);
	worker_of(f, thread)->doubtful = hypothesis;
	worker_of(f, thread)->since = now;
}

void worker_acts_for(struct finder *f, uint32_t thread, struct owner owner, nsec_t now)
{
	const struct worker *w = worker_of(f, thread);
	nsec_t from = w->last_event > w->free_since ? w->last_event : w->free_since;

	if (!w->current && !w->doubtful && w->held_count && from)
		add_work(f, owner, thread, from, now);
}

void worker_hold(struct finder *f, uint32_t thread, uint32_t state)
{
	struct worker *w = worker_of(f, thread);

	state_at(f, state)->next = w->held;
	if (w->held)
		state_at(f, w->held)->prev = state;
	w->held = state;
	w->without_pending++;
	if (w->held_count > 0)
		w->holds_several = true;
	w->held_count++;
}

void worker_release(struct finder *f, uint32_t state)
{
	struct worker *w = worker_of(f, span_at(f, state)->thread.i);
	struct work_state *s = state_at(f, state);

	if (s->prev)
		state_at(f, s->prev)->next = s->next;
	else
		w->held = s->next;
	if (s->next)
		state_at(f, s->next)->prev = s->prev;
	s->prev = s->next = 0;
	w->held_count--;
	if (!s->pending_calls)
		w->without_pending--;
}

void state_count_pending(struct finder *f, uint32_t state, int change)
{
	struct work_state *s = state_at(f, state);
	struct worker *w = worker_of(f, span_at(f, state)->thread.i);

	if (!state)
		return;
	bool had_none = s->pending_calls == 0;

	s->pending_calls += change;

	bool has_none = s->pending_calls == 0;

	if (s->replied || had_none == has_none)
		return;
	if (has_none)
		w->without_pending++;
	else
		w->without_pending--;
}
