/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_loop - the owner of what a thread sends.
 *
 * A thread that holds one request sends for that request.  A thread that holds several, such as an
 * event loop, continues with the request of its last read: a new request, or the reply to a call.
 * But the loop can also have waited for a timer, which no message shows.  So if another request has
 * no pending call, the send can be for that one, and its owner is a hypothesis.  When the loop
 * reads the reply and acts, it acts for the same owner; and when it replies to a client, that
 * client's request is the owner.
 *
 * The hypothesis is dropped in three cases: the reply to the client contradicts what the loop had
 * read before the call (batch.c); more of the call's reply arrives after the loop has acted; or
 * replies to other calls of the same owner are still pending when it acts.
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
 * A request with thousands of calls is a chain of hypotheses, which are settled all at once.  So if
 * there is a settled hypothesis in a chain, it is among the next few.
 */
enum { CHAIN_MAX = 64 };

uint32_t hypothesis_state(const struct finder *f, uint32_t hypothesis)
{
	for (int i = 0; hypothesis && !f->hypotheses.items[hypothesis].state; i++)
		hypothesis = i < CHAIN_MAX ? f->hypotheses.items[hypothesis].same_as : 0;
	return f->hypotheses.items[hypothesis].broken ? 0 : f->hypotheses.items[hypothesis].state;
}

/*
 * No read shows the owner.  Calls in a row have one owner, until a call repeats a target of the
 * row.
 */
static struct owner owner_of_burst(struct finder *f, uint32_t thread, uint64_t target)
{
	struct worker *w = worker_of(f, thread);

	if (!w->burst_hypothesis || batch_splits(w) || target_was_called(w, target)) {
		struct hypothesis hypothesis = { 0 };

		if (!w->just_read)
			w->unprompted_calls++;
		batch_candidates(f, w, &hypothesis);
		w->target_count = 0;
		w->burst_hypothesis = hypothesis_add(f, hypothesis).hypothesis;
	}
	target_add(w, target);
	return (struct owner){ .hypothesis = w->burst_hypothesis };
}

/* The thread holds several requests and has just read for one of them. */
static struct owner owner_by_read(struct finder *f, uint32_t thread, uint64_t target)
{
	const struct worker *w = worker_of(f, thread);
	const struct work_state *current = state_at(f, w->current);
	bool own = span_at(f, w->current)->thread.i == thread;
	uint32_t current_without_pending = own && !current->pending_calls ? 1 : 0;

	/* all other requests wait for replies */
	if (w->without_pending == current_without_pending)
		return (struct owner){ .state = w->current };
	if (w->acted || !w->from_reply || current->pending_calls || batch_is_mixed(w))
		return owner_of_burst(f, thread, target);
	return hypothesis_add(f,
			      (struct hypothesis){ .candidate = w->current, .confidence = 0.95f });
}

/* Possibly more for the request that it has replied to, if it received that request itself. */
static struct owner owner_after_reply(struct finder *f, uint32_t thread)
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
		return owner_by_read(f, thread, target);
	if (w->hypothesis && w->held_count && batch_is_mixed(w))
		return owner_of_burst(f, thread, target);
	if (w->hypothesis && w->held_count)
		return hypothesis_add(f, (struct hypothesis){ .same_as = w->hypothesis });
	if (w->hypothesis)
		return (struct owner){ .hypothesis = w->hypothesis };
	if (w->held_count == 1 && !w->acted)
		return (struct owner){ .state = w->held };
	return w->held_count ? owner_of_burst(f, thread, target) : owner_after_reply(f, thread);
}

uint32_t certain_state(struct finder *f, uint32_t thread)
{
	const struct worker *w = worker_of(f, thread);

	if (state_is_live(f, w->current))
		return w->held_count > 1 && !w->attributed ? 0 : w->current;
	return w->held_count == 1 && !w->acted ? w->held : 0;
}
