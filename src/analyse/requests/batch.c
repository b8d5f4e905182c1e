/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests_batch - of whom a thread has read something, and not acted for them yet.
 *
 * Most event loops act at once for what they have read.  Some read of several
 * connections and then act for each, in that order, as haproxy does.  In some, tasks
 * wait for what no message tells of: a timer, or their turn (gevent, asyncio).  So a
 * question may be for those of which was read before it, and for whom an answer was
 * read is told by whom the loop answers next; but only if both agree.  A wrong parent
 * is worse than none.
 *
 * A loop that keeps the order shows it when it answers.  One in which questions follow
 * timers asks when it has read nothing: there, what it had read before says nothing,
 * and what it answers is believed.
 */
#include <string.h>

#include "analyse/requests/internal.h"

static void forget(struct worker *w, size_t i)
{
	w->batch_count--;
	memmove(&w->batch[i], &w->batch[i + 1], (w->batch_count - i) * sizeof(w->batch[0]));
}

/* Its place, or else the number of all. */
static size_t find(const struct worker *w, struct owner owner)
{
	size_t i = 0;

	while (i < w->batch_count &&
	       (w->batch[i].state != owner.state || w->batch[i].hypothesis != owner.hypothesis))
		i++;
	return i;
}

/* It acts for the first that it has read of, and not at once for the last. */
static bool keeps_order(const struct worker *w)
{
	return w->first_first > w->last_first && w->first_first * 16 > w->replies;
}

void batch_read(struct worker *w, struct owner owner)
{
	size_t i = find(w, owner);
	bool again = i < w->batch_count;

	w->read_several = w->just_read > again;
	w->just_read = true;
	if (again)
		forget(w, i);
	if (w->batch_count == BATCH_MAX)
		forget(w, 0);
	w->batch[w->batch_count++] = owner;
}

void batch_wait(struct worker *w)
{
	w->batch_count = 0;
	w->just_read = w->read_several = false;
}

bool batch_is_mixed(const struct worker *w)
{
	return keeps_order(w) && w->batch_count > 1;
}

bool batch_splits(const struct worker *w)
{
	return w->read_several || (keeps_order(w) && w->batch_count);
}

void batch_call(struct worker *w, struct owner owner)
{
	size_t i = owner.state ? find(w, owner) : w->batch_count;

	w->calls++;
	w->just_read = false;
	if (i < w->batch_count)
		forget(w, i);
	else if (w->batch_count)
		forget(w, keeps_order(w) ? 0 : w->batch_count - 1);
}

static void add_candidate(struct hypothesis *g, uint32_t state)
{
	if (g->candidate_count < BATCH_MAX)
		g->candidates[g->candidate_count++] = state;
}

void batch_candidates(const struct finder *f, const struct worker *w, struct hypothesis *ret)
{
	/* if it acts for the last: that only, and not if it has acted since it read of that */
	size_t from = keeps_order(w) ? 0 : w->batch_count - (w->just_read && !w->read_several);

	for (size_t i = from; i < w->batch_count; i++) {
		const struct hypothesis *heard = &f->hypotheses.items[w->batch[i].hypothesis];

		if (w->batch[i].state)
			add_candidate(ret, w->batch[i].state);
		for (size_t k = 0; k < heard->candidate_count; k++)
			add_candidate(ret, heard->candidates[k]);
		if (!w->batch[i].state && !heard->candidate_count) {
			ret->candidate_count = 0; /* that may be anybody */
			return;
		}
	}
}

static bool is_candidate(const struct hypothesis *g, uint32_t state)
{
	for (size_t i = 0; i < g->candidate_count; i++)
		if (g->candidates[i] == state)
			return true;
	return false;
}

/* Whether all that a guess stands for may be for a state, by what was read before. */
static bool fits(const struct finder *f, uint32_t hypothesis, uint32_t state)
{
	const struct hypothesis *g;

	for (; hypothesis; hypothesis = g->same_as) {
		g = &f->hypotheses.items[hypothesis];
		if (g->candidate_count && !is_candidate(g, state))
			return false;
	}
	return true;
}

/* Whether a guess may be for a state that is answered. */
static bool allows(const struct finder *f, const struct worker *w, uint32_t hypothesis,
		   uint32_t state)
{
	return (w->unprompted_calls * 4 > w->calls && w->disagreed > w->agreed) ||
	       fits(f, hypothesis, state);
}

/* Of the questions whose answers were read, the only one that may be for a state. */
static uint32_t only_hypothesis(const struct finder *f, struct worker *w, uint32_t state)
{
	size_t found = 0, count = 0;

	for (size_t i = 0; i < w->batch_count; i++)
		if (w->batch[i].hypothesis && allows(f, w, w->batch[i].hypothesis, state)) {
			found = i;
			count++;
		}
	if (count != 1)
		return 0;

	uint32_t hypothesis = w->batch[found].hypothesis;

	w->first_first += found + 1 < w->batch_count;
	forget(w, found);
	return hypothesis;
}

/* It answers one of whom it is known to have read: at which place among the others? */
static void learn_order(struct worker *w, size_t i)
{
	w->last_first += i > 0 && i + 1 == w->batch_count;
	w->first_first += i + 1 < w->batch_count;
}

uint32_t batch_reply(const struct finder *f, struct worker *w, uint32_t state)
{
	bool in_order = keeps_order(w) || (w->just_read && w->read_several);
	bool agrees = is_candidate(&f->hypotheses.items[w->hypothesis], state);
	bool only_one = w->held_count == 1 && w->hypothesis;
	size_t i = find(w, (struct owner){ .state = state });

	w->replies++;
	w->just_read = false;
	w->disagreed += !fits(f, w->hypothesis, state);
	w->agreed += agrees;
	if (i < w->batch_count) {
		learn_order(w, i);
		forget(w, i);
		if (!only_one && (in_order || !agrees))
			return 0; /* that is why it answers */
	}
	if (!only_one && (in_order || !w->hypothesis || !allows(f, w, w->hypothesis, state)))
		return only_hypothesis(f, w, state);
	i = find(w, (struct owner){ .hypothesis = w->hypothesis });
	if (i < w->batch_count)
		forget(w, i);
	return w->hypothesis;
}
