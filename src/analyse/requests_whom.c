/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests_whom - for whom a thread acts when it sends something.
 *
 * A thread that holds one request acts for it.  One that holds several, as an
 * event loop does, goes on with that of which it has just read something: a
 * request, or the answer to a question.  But it may also have waited for a timer,
 * of which no message tells; so where another request waits for no answer, what
 * is sent may be for that one.  Then it is left open as a guess: when its answer
 * comes and the thread does something on hearing it, that is for the same; and at
 * last it answers its client, which tells who it was.
 */
#include "analyse/requests_parts.h"

static struct whom add_guess(struct finder *f, uint32_t likely, float confidence)
{
	*vec_push(&f->guesses) = (struct guess){ .likely = likely, .confidence = confidence };
	return (struct whom){ .guess = f->guesses.count - 1 };
}

void settle(struct finder *f, uint32_t guess, uint32_t state)
{
	struct guess *g = &f->guesses.items[guess];

	if (guess && !g->state) {
		g->state = state;
		g->confidence = 0.95f;
	}
}

/* It works for one of several that it holds. */
static struct whom choose(struct finder *f, uint32_t thread)
{
	const struct worker *w = worker_of(f, thread);
	const struct work *current = work_at(f, w->current);
	bool own = span_at(f, w->current)->thread.i == thread;

	if (w->idle == (own && !current->outstanding))
		return (struct whom){ .state = w->current };
	if (w->acted || (w->slept && !w->heard))
		return add_guess(f, 0, 0);
	return add_guess(f, w->current, w->heard ? 0.95f : 0.8f);
}

/* More for what it has answered, if it is one that reads and answers itself. */
static struct whom more_for_last(struct finder *f, uint32_t thread)
{
	const struct worker *w = worker_of(f, thread);
	bool own = span_at(f, w->last)->thread.i == thread && !is_handover(f, w->last);

	return add_guess(f, own && !w->held_count && !w->queue_kind ? w->last : 0, 0.8f);
}

struct whom acting_for(struct finder *f, uint32_t thread)
{
	const struct worker *w = worker_of(f, thread);
	bool live = is_live(f, w->current);

	if (live && (w->held_count <= 1 || span_at(f, w->current)->kind != REQUEST_NETWORK))
		return (struct whom){ .state = w->current };
	if (live && w->fresh)
		return choose(f, thread);
	if (w->guess)
		return (struct whom){ .guess = w->guess };
	if (w->held_count == 1 && !w->acted)
		return (struct whom){ .state = w->held };
	return more_for_last(f, thread);
}

uint32_t working_for(struct finder *f, uint32_t thread)
{
	const struct worker *w = worker_of(f, thread);

	if (is_live(f, w->current))
		return w->held_count > 1 && !w->fresh ? 0 : w->current;
	return w->held_count == 1 && !w->acted ? w->held : 0;
}
