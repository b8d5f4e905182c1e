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
 * last it answers its client, which tells who it was.  Not so if that contradicts
 * what it had read before (requests_batch.c); nor if more of that answer comes
 * afterwards, or if answers to other questions for it are to come: then it was not
 * this that the thread had waited for.
 */
#include "analyse/requests/internal.h"

static struct whom add_guess(struct finder *f, struct guess guess)
{
	*vec_push(&f->guesses) = guess;
	return (struct whom){ .guess = f->guesses.count - 1 };
}

void settle(struct finder *f, uint32_t guess, uint32_t state)
{
	for (; guess && !f->guesses.items[guess].state; guess = f->guesses.items[guess].like) {
		f->guesses.items[guess].state = state;
		f->guesses.items[guess].confidence = 0.95f;
	}
}

/*
 * A request with thousands of calls is a chain of guesses, all of which are settled at once; so one
 * that is settled is near, or there is none.
 */
enum { LIKE_MAX = 64 };

uint32_t guess_state(const struct finder *f, uint32_t guess)
{
	for (int i = 0; guess && !f->guesses.items[guess].state; i++)
		guess = i < LIKE_MAX ? f->guesses.items[guess].like : 0;
	return f->guesses.items[guess].broken ? 0 : f->guesses.items[guess].state;
}

/*
 * Nothing tells.  What is sent at once to several is for one, until it begins
 * again with one that it has sent to.
 */
static struct whom one_of_burst(struct finder *f, uint32_t thread, uint64_t target)
{
	struct worker *w = worker_of(f, thread);

	if (!w->burst || batch_splits(w) || has_asked(w, target)) {
		struct guess guess = { 0 };

		w->unprompted += !w->just_read;
		batch_candidates(f, w, &guess);
		w->target_count = 0;
		w->burst = add_guess(f, guess).guess;
	}
	note_target(w, target);
	return (struct whom){ .guess = w->burst };
}

/* It works for one of several that it holds. */
static struct whom choose(struct finder *f, uint32_t thread, uint64_t target)
{
	const struct worker *w = worker_of(f, thread);
	const struct work *current = work_at(f, w->current);
	bool own = span_at(f, w->current)->thread.i == thread;

	if (w->idle == (own && !current->outstanding))
		return (struct whom){ .state = w->current };
	if (w->acted || !w->heard || current->outstanding || batch_is_mixed(w))
		return one_of_burst(f, thread, target);
	return add_guess(f, (struct guess){ .likely = w->current, .confidence = 0.95f });
}

/* More for what it has answered, if it is one that reads and answers itself. */
static struct whom more_for_last(struct finder *f, uint32_t thread)
{
	const struct worker *w = worker_of(f, thread);
	bool own = span_at(f, w->last)->thread.i == thread && !is_handoff(f, w->last);

	return add_guess(f, (struct guess){ .likely = own && !w->queue_kind ? w->last : 0,
					    .confidence = 0.8f });
}

struct whom acting_for(struct finder *f, uint32_t thread, uint64_t target)
{
	const struct worker *w = worker_of(f, thread);
	bool live = is_live(f, w->current);

	if (live && (w->held_count <= 1 || span_at(f, w->current)->kind != REQUEST_NETWORK))
		return (struct whom){ .state = w->current };
	if (live && w->fresh)
		return choose(f, thread, target);
	if (w->guess && w->held_count && batch_is_mixed(w))
		return one_of_burst(f, thread, target);
	if (w->guess && w->held_count)
		return add_guess(f, (struct guess){ .like = w->guess });
	if (w->guess)
		return (struct whom){ .guess = w->guess };
	if (w->held_count == 1 && !w->acted)
		return (struct whom){ .state = w->held };
	return w->held_count ? one_of_burst(f, thread, target) : more_for_last(f, thread);
}

uint32_t working_for(struct finder *f, uint32_t thread)
{
	const struct worker *w = worker_of(f, thread);

	if (is_live(f, w->current))
		return w->held_count > 1 && !w->fresh ? 0 : w->current;
	return w->held_count == 1 && !w->acted ? w->held : 0;
}
