/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests_pool - threads that are handed work by another one.
 *
 * Who is woken by a thread that works for a request, out of a wait for work and
 * not for a lock, is about to work for that request; as a rule.  Under load it is
 * seldom so: workers take what is first in the queue, one that has just become
 * free takes it before the one that was woken has got a CPU, and does so without
 * ever waiting.  So what is seen here is only where an item of work begins and
 * ends.  It ends where its thread waits for more, wakes the one that hands out
 * work, or answers the client itself.  Nothing may be seen of it, so what is asked
 * when no answer is waited for may be for the next already: it is cut there, and
 * what was cut for nothing is joined when that is known.  For whom work was is told
 * by the answer: by its own, at once, or else by its place among all others
 * (requests_match.c).
 */

#include "analyse/requests/internal.h"
#include "base/hash.h"
#include "event/thread_state.h"

/* state: for what it is, as it seems; 0 if that is open. */
static uint32_t begin_work(struct finder *f, uint32_t thread, uint32_t state, nsec_t from)
{
	struct worker *w = worker_of(f, thread);
	nsec_t start = span_at(f, state)->start;
	uint32_t work = add_state(f, REQUEST_HANDOFF, thread, state, from > start ? from : start);

	work_at(f, work)->boss = w->boss;
	work_at(f, work)->queue = w->queue;
	w->target_count = 0;
	set_current(f, thread, work, span_at(f, work)->start);
	w->fresh = true;
	return work;
}

/* What there is to do, if that is one thing. */
static uint32_t open_work(struct finder *f, uint32_t boss)
{
	return worker_of(f, boss)->shares ? 0 : worker_of(f, boss)->held;
}

static void end_work(struct finder *f, uint32_t thread, nsec_t now)
{
	struct worker *w = worker_of(f, thread);

	extend(f, w->current, now);
	work_at(f, w->current)->ended = true;
	work_at(f, w->current)->upto = now;
	set_current(f, thread, 0, now);
	w->popped = now;
}

/* The words of a lock and of a condition that belong to one queue lie side by side. */
static bool is_same_queue(const struct worker *w, const struct cause *cause)
{
	if (w->queue_kind != cause->object_kind)
		return false;
	return cause->object_kind != OBJECT_FUTEX || w->queue - cause->object + 128 < 256;
}

static bool is_lock(const struct finder *f, uint32_t thread, const struct cause *cause)
{
	return cause->object_kind == OBJECT_FUTEX && !(cause->flags & INTERVAL_SIGNAL) &&
	       map_find(&f->conditions, process_key(thread_of(f, thread)));
}

static uint64_t turnstile_key(const struct finder *f, uint32_t thread, uint64_t object)
{
	uint64_t key[] = { process_key(thread_of(f, thread)), object };

	return hash_bytes(key, sizeof(key));
}

/*
 * What somebody waits for who has a request to work on is no queue of work, though it
 * is passed by signals.  All threads of Python pass one: that of its interpreter.
 */
static void note_turnstile(struct finder *f, const struct occurrence *o)
{
	const struct cause *cause = o->what;
	const struct worker *w = worker_of(f, o->thread);

	if (cause->flags & INTERVAL_SIGNAL && w->held_count && !w->outstanding)
		*map_insert(&f->turnstiles, turnstile_key(f, o->thread, cause->object)) = 1;
}

bool pool_is_turnstile(const struct finder *f, uint32_t thread, uint64_t object)
{
	return map_find(&f->turnstiles, turnstile_key(f, thread, object));
}

/*
 * A thread whose place to wait for anybody is a poll, woken elsewhere, goes back to it
 * and has done nothing: that was no work, but a lock which is handed on by signals, as
 * the one of Python's interpreter.
 */
static bool was_no_work(struct finder *f, struct worker *w, const struct cause *cause)
{
	if (syscall_class_of(cause->syscall) != SYSCALL_POLL)
		return false;
	w->polls |= !w->current;
	return w->polls && is_handoff(f, w->current) && !is_same_queue(w, cause) &&
	       !work_at(f, w->current)->first;
}

static void drop_work(struct finder *f, uint32_t thread, nsec_t now)
{
	struct worker *w = worker_of(f, thread);

	work_at(f, w->current)->settled = true;
	span_at(f, w->current)->parent = 0;
	end_work(f, thread, now);
	w->queue_kind = 0;
}

void pool_block(struct finder *f, const struct occurrence *o)
{
	const struct cause *cause = o->what;
	struct worker *w = worker_of(f, o->thread);
	const struct work *work = work_at(f, w->current);

	if (cause->flags & INTERVAL_SIGNAL)
		*map_insert(&f->conditions, process_key(thread_of(f, o->thread))) = 1;
	note_turnstile(f, o);
	if (was_no_work(f, w, cause))
		drop_work(f, o->thread, o->time);
	if (!is_handoff(f, w->current) || !is_same_queue(w, cause))
		return;
	/* the lock of the queue: it has not got anything yet, or is back for more */
	if (is_lock(f, o->thread, cause) && (!work->first || w->outstanding))
		return;
	end_work(f, o->thread, o->time);
}

/* A worker wakes who hands out the work: it is done with its own. */
static bool gives_back(struct finder *f, const struct occurrence *o)
{
	struct worker *by = worker_of(f, o->other), *to = worker_of(f, o->thread);

	if (!is_handoff(f, by->current) || work_at(f, by->current)->boss != o->thread ||
	    by->outstanding || !to->held_count)
		return false;
	to->takes_back = true;
	work_at(f, by->current)->last = o->time;
	end_work(f, o->other, o->time);
	return true;
}

void pool_wake(struct finder *f, const struct occurrence *o)
{
	const struct thread *waker = thread_of(f, o->other), *woken = thread_of(f, o->thread);
	const struct cause *cause = o->what;
	struct worker *w = worker_of(f, o->thread);
	uint32_t state = working_for(f, o->other);

	if (process_key(waker) != process_key(woken))
		return;
	if (is_same_queue(w, cause) && !work_at(f, w->current)->first)
		w->popped = o->ran;
	if (is_lock(f, o->thread, cause) || gives_back(f, o) || !state ||
	    pool_is_turnstile(f, o->thread, cause->object))
		return;
	worker_of(f, o->other)->acted = true;

	bool busy = is_live(f, w->current) && span_at(f, w->current)->kind != REQUEST_FORK;

	if (busy || w->held_count)
		return;

	const struct worker *by = worker_of(f, o->other);
	/* who takes one thing from a pipe wakes the next if there is more in it */
	bool passes_on = is_handoff(f, by->current) && is_same_queue(by, cause);

	w->boss = passes_on ? by->boss : o->other;
	w->queue = cause->object;
	w->queue_kind = cause->object_kind ?: OBJECT_OTHER;
	w->popped = o->ran;
	state = passes_on ? open_work(f, w->boss) : network_of(f, state) ?: state;
	begin_work(f, o->thread, state, o->time);
}

/* Whether work that goes on may be that for another request from here on. */
static enum cut cut_at(struct finder *f, const struct worker *w, uint32_t side, uint64_t target)
{
	const struct side *s = &f->sides.items[side];

	if (w->outstanding || s->owner.state || !work_at(f, w->current)->first)
		return CUT_NONE;
	if (!has_asked(w, target))
		return CUT_PLAIN;
	return s->made_in == w->current ? CUT_HELLO : CUT_AGAIN;
}

static void cut_work(struct finder *f, uint32_t thread, enum cut cut, nsec_t now)
{
	struct worker *w = worker_of(f, thread);
	uint32_t origin = w->current;
	uint8_t target_count = w->target_count;

	end_work(f, thread, work_at(f, origin)->last);
	work_at(f, origin)->upto = now;

	uint32_t part = begin_work(f, thread, open_work(f, w->boss), w->popped);

	work_at(f, part)->origin = origin;
	work_at(f, part)->cut = cut;
	if (cut == CUT_PLAIN)
		w->target_count = target_count;
}

void pool_begin(struct finder *f, uint32_t thread)
{
	const struct worker *w = worker_of(f, thread);

	if (w->queue_kind && !w->held_count && !is_live(f, w->current))
		begin_work(f, thread, open_work(f, w->boss), w->free_since);
}

/* A worker that has done one thing takes the next without being woken, and maybe unseen. */
static void take_next(struct finder *f, uint32_t thread, uint32_t side, uint64_t target, nsec_t now)
{
	struct worker *w = worker_of(f, thread);

	if (is_handoff(f, w->current) && !work_at(f, w->current)->ended) {
		enum cut cut = cut_at(f, w, side, target);

		if (cut)
			cut_work(f, thread, cut, now);
	} else {
		pool_begin(f, thread);
	}
}

void pool_ask(struct finder *f, uint32_t thread, uint32_t side, uint64_t object, nsec_t now)
{
	struct worker *w = worker_of(f, thread);
	uint64_t target = side_target(f, thread, object);

	take_next(f, thread, side, target, now);
	if (!is_handoff(f, w->current))
		return;

	struct work *work = work_at(f, w->current);

	if (!work->first) {
		work->first = now;
		work->popped = w->popped;
	}
	work->last = now;
	work->questions += !f->sides.items[side].owner.state;
	note_target(w, target);
}

void pool_hear(struct finder *f, uint32_t thread, nsec_t now)
{
	if (is_handoff(f, worker_of(f, thread)->current))
		work_at(f, worker_of(f, thread)->current)->last = now;
}

/* A thread answers what another one has read: it has worked for that. */
uint32_t pool_answer(struct finder *f, uint32_t thread, uint32_t state)
{
	struct worker *w = worker_of(f, thread);

	if (!is_handoff(f, w->current))
		begin_work(f, thread, state, w->free_since);

	struct work *work = work_at(f, w->current);
	struct request_span *span = span_at(f, w->current);

	/* what seemed to be of another was not */
	for (uint32_t i = w->current; work_at(f, i)->origin; i = work_at(f, i)->origin)
		work_at(f, i)->part_of = work_at(f, i)->origin;
	for (uint32_t i = w->current; i; i = work_at(f, i)->origin) {
		work_at(f, i)->settled = true;
		span_at(f, i)->parent = state;
	}
	work->ended = true;
	if (span->start < span_at(f, state)->start)
		span->start = span_at(f, state)->start;
	work_at(f, state)->holder = w->current;
	return w->current;
}
