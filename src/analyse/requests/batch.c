/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch - what an event loop has read and not acted on yet.
 *
 * Most event loops act at once on what they read.  Some, such as haproxy, read from several
 * connections and then act for each in that order.  In others, such as gevent and asyncio, tasks
 * also wait for timers or for their turn, which no message shows.  So the candidates for the owner
 * of a call are the owners of the reads before it, and the next reply to a client names the owner;
 * a parent is accepted only if both agree.  A wrong parent is worse than none.
 *
 * The order of its replies shows whether a loop handles its reads in order.  A loop whose calls
 * follow timers makes calls without a read before: its earlier reads say nothing about the owner,
 * so its replies alone decide.
 */
#include <string.h>

#include "analyse/requests/internal.h"

static void forget(struct worker *w, size_t i)
{
	w->batch_count--;
	memmove(&w->batch[i], &w->batch[i + 1], (w->batch_count - i) * sizeof(w->batch[0]));
}

/* The index of an owner in the batch, or batch_count. */
static size_t find(const struct worker *w, struct owner owner)
{
	size_t i = 0;

	while (i < w->batch_count &&
	       (w->batch[i].state != owner.state || w->batch[i].hypothesis != owner.hypothesis))
		i++;
	return i;
}

/* Whether the loop acts for its oldest read first, and not at once for the latest. */
static bool keeps_order(const struct worker *w)
{
	return w->first_first > w->last_first && w->first_first * 16 > w->replies;
}

void batch_read(struct worker *w, struct owner owner)
{
	size_t i = find(w, owner);
	bool again = i < w->batch_count;

	w->read_several = w->just_read && !again;
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

static void add_candidate(struct hypothesis *h, uint32_t state)
{
	if (h->candidate_count < BATCH_MAX)
		h->candidates[h->candidate_count++] = state;
}

void batch_candidates(const struct finder *f, const struct worker *w, struct hypothesis *ret)
{
	bool acts_for_last = w->just_read && !w->read_several;
	size_t from = w->batch_count; /* no candidates */

	if (keeps_order(w))
		from = 0;
	else if (acts_for_last)
		from = w->batch_count - 1;

	for (size_t i = from; i < w->batch_count; i++) {
		const struct hypothesis *read = &f->hypotheses.items[w->batch[i].hypothesis];

		if (w->batch[i].state)
			add_candidate(ret, w->batch[i].state);
		for (size_t k = 0; k < read->candidate_count; k++)
			add_candidate(ret, read->candidates[k]);
		if (!w->batch[i].state && !read->candidate_count) {
			ret->candidate_count = 0; /* any state */
			return;
		}
	}
}

static bool is_candidate(const struct hypothesis *h, uint32_t state)
{
	for (size_t i = 0; i < h->candidate_count; i++)
		if (h->candidates[i] == state)
			return true;
	return false;
}

/* Whether a state is a candidate of a hypothesis and of all earlier ones with the same owner. */
static bool fits(const struct finder *f, uint32_t hypothesis, uint32_t state)
{
	const struct hypothesis *h;

	for (; hypothesis; hypothesis = h->same_as) {
		h = &f->hypotheses.items[hypothesis];
		if (h->candidate_count && !is_candidate(h, state))
			return false;
	}
	return true;
}

/* Whether a reply for a state can settle a hypothesis. */
static bool allows(const struct finder *f, const struct worker *w, uint32_t hypothesis,
		   uint32_t state)
{
	bool follows_timers = w->unprompted_calls * 4 > w->calls && w->disagreed > w->agreed;

	return follows_timers || fits(f, hypothesis, state);
}

/* The only hypothesis in the batch that a reply for a state can settle; 0 if there are several. */
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

	if (found + 1 < w->batch_count)
		w->first_first++;
	forget(w, found);
	return hypothesis;
}

/* The loop replies to the i-th of its reads: is that the oldest or the latest of several? */
static void learn_order(struct worker *w, size_t i)
{
	if (i + 1 < w->batch_count)
		w->first_first++;
	else if (i > 0)
		w->last_first++;
}

uint32_t batch_reply(const struct finder *f, struct worker *w, uint32_t state)
{
	bool in_order = keeps_order(w) || (w->just_read && w->read_several);
	bool agrees = is_candidate(&f->hypotheses.items[w->hypothesis], state);
	bool only_one = w->held_count == 1 && w->hypothesis;
	size_t i = find(w, (struct owner){ .state = state });

	w->replies++;
	w->just_read = false;
	if (!fits(f, w->hypothesis, state))
		w->disagreed++;
	if (agrees)
		w->agreed++;
	if (i < w->batch_count) {
		learn_order(w, i);
		forget(w, i);
		if (!only_one && (in_order || !agrees))
			return 0; /* the read of the request is why it replies */
	}
	if (!only_one && (in_order || !w->hypothesis || !allows(f, w, w->hypothesis, state)))
		return only_hypothesis(f, w, state);
	i = find(w, (struct owner){ .hypothesis = w->hypothesis });
	if (i < w->batch_count)
		forget(w, i);
	return w->hypothesis;
}
