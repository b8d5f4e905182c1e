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

static struct owner hypothesis_add(struct finder *f, struct hypothesis hypothesis)
{
	*vec_push(&f->hypotheses) = hypothesis;
	return (struct owner){ .hypothesis = f->hypotheses.count - 1 };
}

void hypothesis_settle(struct finder *f, uint32_t hypothesis, uint32_t state)
{
	for (; hypothesis && !f->hypotheses.items[hypothesis].state;
	     hypothesis = f->hypotheses.items[hypothesis].same_as) {
		f->hypotheses.items[hypothesis].state = state;
		f->hypotheses.items[hypothesis].confidence = 0.95f;
	}
}

/*
 * A request with thousands of calls is a chain of guesses, all of which are settled at once; so one
 * that is settled is near, or there is none.
 */
enum { CHAIN_MAX = 64 };

uint32_t hypothesis_state(const struct finder *f, uint32_t hypothesis)
{
	for (int i = 0; hypothesis && !f->hypotheses.items[hypothesis].state; i++)
		hypothesis = i < CHAIN_MAX ? f->hypotheses.items[hypothesis].same_as : 0;
	return f->hypotheses.items[hypothesis].broken ? 0 : f->hypotheses.items[hypothesis].state;
}

/*
 * Nothing tells.  What is sent at once to several is for one, until it begins
 * again with one that it has sent to.
 */
static struct owner one_of_burst(struct finder *f, uint32_t thread, uint64_t target)
{
	struct worker *w = worker_of(f, thread);

	if (!w->burst_hypothesis || batch_splits(w) || target_was_called(w, target)) {
		struct hypothesis hypothesis = { 0 };

		w->unprompted_calls += !w->just_read;
		batch_candidates(f, w, &hypothesis);
		w->target_count = 0;
		w->burst_hypothesis = hypothesis_add(f, hypothesis).hypothesis;
	}
	target_add(w, target);
	return (struct owner){ .hypothesis = w->burst_hypothesis };
}

/* It works for one of several that it holds. */
static struct owner choose(struct finder *f, uint32_t thread, uint64_t target)
{
	const struct worker *w = worker_of(f, thread);
	const struct work_state *current = state_at(f, w->current);
	bool own = span_at(f, w->current)->thread.i == thread;

	if (w->without_pending == (own && !current->pending_calls))
		return (struct owner){ .state = w->current };
	if (w->acted || !w->from_reply || current->pending_calls || batch_is_mixed(w))
		return one_of_burst(f, thread, target);
	return hypothesis_add(f,
			      (struct hypothesis){ .candidate = w->current, .confidence = 0.95f });
}

/* More for what it has answered, if it is one that reads and answers itself. */
static struct owner more_for_last(struct finder *f, uint32_t thread)
{
	const struct worker *w = worker_of(f, thread);
	bool own = span_at(f, w->last)->thread.i == thread && !state_is_handoff(f, w->last);

	return hypothesis_add(f,
			      (struct hypothesis){ .candidate = own && !w->queue_kind ? w->last : 0,
						   .confidence = 0.8f });
}

struct owner owner_of_send(struct finder *f, uint32_t thread, uint64_t target)
{
	const struct worker *w = worker_of(f, thread);
	bool live = state_is_live(f, w->current);

	if (live && (w->held_count <= 1 || span_at(f, w->current)->kind != REQUEST_NETWORK))
		return (struct owner){ .state = w->current };
	if (live && w->attributed)
		return choose(f, thread, target);
	if (w->hypothesis && w->held_count && batch_is_mixed(w))
		return one_of_burst(f, thread, target);
	if (w->hypothesis && w->held_count)
		return hypothesis_add(f, (struct hypothesis){ .same_as = w->hypothesis });
	if (w->hypothesis)
		return (struct owner){ .hypothesis = w->hypothesis };
	if (w->held_count == 1 && !w->acted)
		return (struct owner){ .state = w->held };
	return w->held_count ? one_of_burst(f, thread, target) : more_for_last(f, thread);
}

uint32_t certain_state(struct finder *f, uint32_t thread)
{
	const struct worker *w = worker_of(f, thread);

	if (state_is_live(f, w->current))
		return w->held_count > 1 && !w->attributed ? 0 : w->current;
	return w->held_count == 1 && !w->acted ? w->held : 0;
}
