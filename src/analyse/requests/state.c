/* SPDX-License-Identifier: Apache-2.0 */
/* requests_state - what is worked for, by whom and when. */
#include "analyse/requests/internal.h"

uint32_t add_state(struct finder *f, enum request_kind kind, uint32_t thread, uint32_t parent,
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
		(struct work){ .stem = kind == REQUEST_FORK ? stem_of(f, parent) : 0 };
	return f->out->spans.count - 1;
}

uint32_t stem_of(struct finder *f, uint32_t state)
{
	return span_at(f, state)->kind == REQUEST_FORK ? work_at(f, state)->stem : state;
}

uint32_t network_of(struct finder *f, uint32_t state)
{
	for (state = stem_of(f, state); is_handoff(f, state);
	     state = stem_of(f, span_at(f, state)->parent))
		;
	return state;
}

bool is_live(struct finder *f, uint32_t state)
{
	state = stem_of(f, state);
	if (!state || work_at(f, state)->ended)
		return false;
	/* what a handoff is for may turn out later: it goes on until it is seen to end */
	return is_handoff(f, state) || !work_at(f, state)->answered;
}

void extend(struct finder *f, uint32_t state, nsec_t t)
{
	if (state && span_at(f, state)->end < t)
		span_at(f, state)->end = t;
}

static void add_slice(struct finder *f, uint32_t state, uint32_t thread, nsec_t from, nsec_t to)
{
	if (from < to)
		*vec_push(&f->out->work) = (struct request_work){ state, { thread }, from, to };
}

void set_current(struct finder *f, uint32_t thread, uint32_t state, nsec_t now)
{
	struct worker *w = worker_of(f, thread);

	w->acted = false;
	if (w->current == state)
		return;
	if (w->current) {
		add_slice(f, w->current, thread, w->since, now);
		w->last = w->current;
		w->free_since = now;
	}
	w->current = state;
	w->since = now;
}

void hold(struct finder *f, uint32_t thread, uint32_t state)
{
	struct worker *w = worker_of(f, thread);

	work_at(f, state)->next = w->held;
	if (w->held)
		work_at(f, w->held)->prev = state;
	w->held = state;
	w->idle++;
	w->shares |= w->held_count++ > 0;
}

void let_go(struct finder *f, uint32_t state)
{
	struct worker *w = worker_of(f, span_at(f, state)->thread.i);
	struct work *s = work_at(f, state);

	if (s->prev)
		work_at(f, s->prev)->next = s->next;
	else
		w->held = s->next;
	if (s->next)
		work_at(f, s->next)->prev = s->prev;
	s->prev = s->next = 0;
	w->held_count--;
	w->idle -= !s->outstanding;
}

void count_question(struct finder *f, uint32_t state, int change)
{
	struct work *s = work_at(f, state);
	struct worker *w = worker_of(f, span_at(f, state)->thread.i);

	if (!state)
		return;
	if (!s->answered)
		w->idle += (s->outstanding + change == 0) - (s->outstanding == 0);
	s->outstanding += change;
}
