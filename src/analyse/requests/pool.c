/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool - threads that get work from another thread.
 *
 * A thread that is woken from a wait for work, by a thread that works for a request, usually works
 * for that request next.  Under load it seldom does: workers take the first item of the queue, and
 * a worker that has just become free takes it before the woken one gets a CPU.  So this file only
 * finds where items of work begin and end.  An item ends when its thread waits for more, wakes the
 * dispatcher, or replies to the client itself.  The end can also be invisible: a call without
 * another pending call can be for the next item.  The work is cut there, and link.c merges cuts
 * that turn out to be wrong.  The reply shows the request of an item: at once if the worker sends
 * it, otherwise by its rank among all replies (match.c).
 */

#include "analyse/requests/internal.h"
#include "base/hash.h"
#include "event/thread_state.h"
#include "model/futex.h"

/* A handoff, apparently for a state; 0 if unknown. */
static uint32_t begin_work(struct finder *f, uint32_t thread, uint32_t state, nsec_t from)
{
	struct worker *w = worker_of(f, thread);
	nsec_t start = span_at(f, state)->start;
	uint32_t work = state_add(f, REQUEST_HANDOFF, thread, state, from > start ? from : start);

	state_at(f, work)->dispatcher = w->dispatcher;
	state_at(f, work)->queue = w->queue;
	w->target_count = 0;
	worker_set_current(f, thread, work, span_at(f, work)->start);
	w->attributed = true;
	return work;
}

/* The request that a dispatcher holds, if it never holds several. */
static uint32_t only_request(struct finder *f, uint32_t dispatcher)
{
	return worker_of(f, dispatcher)->holds_several ? 0 : worker_of(f, dispatcher)->held;
}

static void end_work(struct finder *f, uint32_t thread, nsec_t now)
{
	struct worker *w = worker_of(f, thread);

	state_extend(f, w->current, now);
	state_at(f, w->current)->ended = true;
	state_at(f, w->current)->over_by = now;
	worker_set_current(f, thread, 0, now);
	w->taken = now;
}

/* The mutexes and condition variables of an object are close in memory. */
static bool is_close(uint64_t a, uint64_t b)
{
	return a - b + 128 < 256;
}

static bool is_same_queue(const struct worker *w, const struct cause *cause)
{
	if (w->queue_kind != cause->object_kind)
		return false;
	return cause->object_kind != OBJECT_FUTEX || is_close(w->queue, cause->object);
}

static bool is_lock(const struct finder *f, uint32_t thread, const struct cause *cause)
{
	return cause->object_kind == OBJECT_FUTEX && !(cause->flags & INTERVAL_CONDVAR) &&
	       map_find(&f->conditions, process_key(thread_of(f, thread)));
}

static uint64_t shared_lock_key(const struct finder *f, uint32_t thread, uint64_t object)
{
	uint64_t key[] = { process_key(thread_of(f, thread)), object };

	return hash_bytes(key, sizeof(key));
}

/*
 * A condition variable that a thread with a request of its own waits for is a shared lock and not
 * a work queue: for example, Python's global interpreter lock.
 */
static void note_shared_lock(struct finder *f, const struct occurrence *o)
{
	const struct cause *cause = o->what;
	const struct worker *w = worker_of(f, o->thread);

	if (cause->flags & INTERVAL_CONDVAR && w->held_count && !w->pending_calls)
		*map_insert(&f->shared_locks, shared_lock_key(f, o->thread, cause->object)) =
			o->time;
}

/*
 * Python's threads pass their global interpreter lock on, and the one that had it waits until
 * another has taken it: neither is work or its result.  A thread drops the lock for another one
 * only after that has waited for a whole turn, so the turn comes first.
 */
static void note_gil(struct finder *f, const struct occurrence *o)
{
	const struct cause *cause = o->what;

	if (cause->flags & INTERVAL_CONDVAR && futex_is_turn(cause, o->ran) &&
	    model_runtime(f->model, (thread_id){ o->thread }) == RUNTIME_PYTHON)
		*map_insert(&f->gils, process_key(thread_of(f, o->thread))) = cause->object;
}

static bool is_gil(const struct finder *f, uint32_t thread, const struct cause *cause)
{
	const uint64_t *gil = map_find(&f->gils, process_key(thread_of(f, thread)));

	return gil && cause->object_kind == OBJECT_FUTEX && is_close(*gil, cause->object);
}

static struct futex_wait *futex_wait_of(struct finder *f, uint32_t thread, uint64_t object)
{
	uint64_t key = shared_lock_key(f, thread, object), *at = map_insert(&f->last_waits, key);

	if (!*at) {
		*at = f->waits.count;
		*vec_push(&f->waits) = (struct futex_wait){ .key = key };
	}
	return &f->waits.items[*at];
}

/* An object that several threads wait on at once is not the result of one thread's job. */
static void note_wait(struct finder *f, const struct occurrence *o)
{
	const struct cause *cause = o->what;
	struct futex_wait *wait;

	if (cause->object_kind != OBJECT_FUTEX)
		return;
	wait = futex_wait_of(f, o->thread, cause->object);
	wait->is_shared |= wait->thread != o->thread && wait->end > o->time;
	wait->thread = o->thread;
	wait->end = o->ran;
}

bool pool_is_shared_lock(const struct finder *f, uint32_t thread, uint64_t object)
{
	return map_find(&f->shared_locks, shared_lock_key(f, thread, object));
}

/*
 * A thread that waits for work in a poll was woken from another wait, and polls again without a
 * call: it did not get work but a shared lock, such as Python's global interpreter lock.
 */
static bool was_lock(struct finder *f, struct worker *w, const struct cause *cause)
{
	if (syscall_class_of(cause->syscall) != SYSCALL_POLL)
		return false;
	w->polls_when_idle |= !w->current;
	return w->polls_when_idle && state_is_handoff(f, w->current) && !is_same_queue(w, cause) &&
	       !state_at(f, w->current)->first_call;
}

static void drop_work(struct finder *f, uint32_t thread, nsec_t now)
{
	struct worker *w = worker_of(f, thread);

	state_at(f, w->current)->settled = true;
	span_at(f, w->current)->parent = 0;
	end_work(f, thread, now);
	w->queue_kind = 0;
}

void pool_block(struct finder *f, const struct occurrence *o)
{
	const struct cause *cause = o->what;
	struct worker *w = worker_of(f, o->thread);
	const struct work_state *work = state_at(f, w->current);

	if (cause->flags & INTERVAL_CONDVAR)
		*map_insert(&f->conditions, process_key(thread_of(f, o->thread))) = 1;
	note_shared_lock(f, o);
	note_gil(f, o);
	note_wait(f, o);
	if (is_same_queue(w, cause))
		w->idle_until = o->ran;
	if (was_lock(f, w, cause))
		drop_work(f, o->thread, o->time);
	if (!state_is_handoff(f, w->current) || !is_same_queue(w, cause))
		return;
	/* the mutex of the queue: it has not taken an item yet, or is back for more */
	if (is_lock(f, o->thread, cause) && (!work->first_call || w->pending_calls))
		return;
	end_work(f, o->thread, o->time);
}

/* A worker that was busy has taken the work without a wakeup: the next reply shows its request. */
static bool hands_back_next(struct finder *f, const struct occurrence *o)
{
	struct worker *by = worker_of(f, o->other), *to = worker_of(f, o->thread);
	nsec_t from = by->free_since > by->idle_until ? by->free_since : by->idle_until;

	if (by->current || !by->queue_kind || by->dispatcher != o->thread || by->reads ||
	    by->pending_calls || !to->held_count || !from)
		return false;
	to->result = begin_work(f, o->other, 0, from);
	end_work(f, o->other, o->time);
	return true;
}

void pool_reader_reply(struct finder *f, uint32_t thread, uint32_t state)
{
	struct worker *w = worker_of(f, thread);
	uint32_t work = w->result;

	w->result = 0;
	if (!work || state_at(f, state)->handoff || state_at(f, work)->settled)
		return;
	state_at(f, work)->settled = true;
	state_at(f, state)->handoff = work;
	span_at(f, work)->parent = state;
	span_at(f, work)->confidence = 0.9f;
	if (span_at(f, work)->start < span_at(f, state)->start)
		span_at(f, work)->start = span_at(f, state)->start;
}

/* A worker that wakes its dispatcher hands its result back. */
static bool hands_back(struct finder *f, const struct occurrence *o)
{
	struct worker *by = worker_of(f, o->other), *to = worker_of(f, o->thread);

	if (hands_back_next(f, o))
		return true;
	if (!state_is_handoff(f, by->current) ||
	    state_at(f, by->current)->dispatcher != o->thread || by->pending_calls ||
	    !to->held_count)
		return false;
	to->gets_results = true;
	if (!state_at(f, by->current)->first_call)
		to->result = by->current; /* match.c assigns work with calls */
	state_at(f, by->current)->last_message = o->time;
	end_work(f, o->other, o->time);
	return true;
}

/*
 * Whether a thread that waits for the result of a job gets it from a worker: it has one request and
 * nothing else to wait for, only this thread waits on that object, and the waker receives no
 * requests.
 */
static bool is_result(struct finder *f, const struct occurrence *o)
{
	const struct worker *by = worker_of(f, o->other), *to = worker_of(f, o->thread);
	const struct cause *cause = o->what;

	return cause->flags & INTERVAL_CONDVAR && cause->object_kind == OBJECT_FUTEX &&
	       to->held_count == 1 && !to->pending_calls && !by->reads && !by->pending_calls &&
	       !futex_wait_of(f, o->thread, cause->object)->is_shared;
}

/*
 * A thread that was created for one request hands a result to another: it is a worker of a pool
 * that grows on demand, and its work for the first request ended with the last result for that.
 */
static void end_fork(struct finder *f, uint32_t thread, uint32_t state, nsec_t now)
{
	struct worker *w = worker_of(f, thread);
	struct work_state *fork = state_at(f, w->current);

	if (state_request(f, w->current) == state_request(f, state)) {
		fork->last_message = now;
		return;
	}
	end_work(f, thread, fork->last_message > w->since ? fork->last_message : now);
	w->queue_kind = w->queue_kind ?: OBJECT_OTHER;
}

/* A worker that was busy has taken the job without a wakeup: the result shows its request. */
static void take_result(struct finder *f, const struct occurrence *o)
{
	struct worker *by = worker_of(f, o->other);
	uint32_t state = worker_of(f, o->thread)->held;

	if (span_at(f, by->current)->kind == REQUEST_FORK)
		end_fork(f, o->other, state, o->time);
	if (span_at(f, by->current)->kind == REQUEST_FORK)
		return;

	bool goes_on = state_is_handoff(f, by->current) && !state_at(f, by->current)->ended;
	nsec_t from = by->free_since > by->idle_until ? by->free_since : by->idle_until;

	if (!goes_on && from)
		begin_work(f, o->other, state, from);
	if (!state_is_handoff(f, by->current))
		return;
	pool_reply(f, o->other, state);
	state_at(f, by->current)->last_message = o->time;
	end_work(f, o->other, o->time);
}

void pool_wake(struct finder *f, const struct occurrence *o)
{
	const struct thread *waker = thread_of(f, o->other), *woken = thread_of(f, o->thread);
	const struct cause *cause = o->what;
	struct worker *w = worker_of(f, o->thread);
	uint32_t state = certain_state(f, o->other);

	if (process_key(waker) != process_key(woken) || is_gil(f, o->thread, cause))
		return;
	if (is_same_queue(w, cause) && !state_at(f, w->current)->first_call)
		w->taken = o->ran;
	if (is_result(f, o)) {
		take_result(f, o);
		return;
	}
	if (is_lock(f, o->thread, cause) || hands_back(f, o) || !state ||
	    pool_is_shared_lock(f, o->thread, cause->object))
		return;
	worker_of(f, o->other)->acted = true;

	bool busy = state_is_live(f, w->current) && span_at(f, w->current)->kind != REQUEST_FORK;

	if (busy || w->held_count)
		return;

	const struct worker *by = worker_of(f, o->other);
	/* a worker that takes an item wakes the next worker if there are more items */
	bool passes_on = state_is_handoff(f, by->current) && is_same_queue(by, cause);

	w->dispatcher = passes_on ? by->dispatcher : o->other;
	w->queue = cause->object;
	w->queue_kind = cause->object_kind ?: OBJECT_OTHER;
	w->taken = o->ran;
	state = passes_on ? only_request(f, w->dispatcher) : state_request(f, state) ?: state;
	begin_work(f, o->thread, state, o->time);
}

/* Whether a call can be for another request than the current work. */
static enum cut cut_at(struct finder *f, const struct worker *w, uint32_t side, uint64_t target)
{
	const struct side *s = &f->sides.items[side];

	if (w->pending_calls || s->connect_owner.state || !state_at(f, w->current)->first_call)
		return CUT_NONE;
	if (!target_was_called(w, target))
		return CUT_PLAIN;
	return s->connect_state == w->current ? CUT_HANDSHAKE : CUT_REPEATED;
}

static void cut_work(struct finder *f, uint32_t thread, enum cut cut, nsec_t now)
{
	struct worker *w = worker_of(f, thread);
	uint32_t origin = w->current;
	uint8_t target_count = w->target_count;

	end_work(f, thread, state_at(f, origin)->last_message);
	state_at(f, origin)->over_by = now;

	uint32_t part = begin_work(f, thread, only_request(f, w->dispatcher), w->taken);

	state_at(f, part)->origin = origin;
	state_at(f, part)->cut = cut;
	if (cut == CUT_PLAIN)
		w->target_count = target_count;
}

void pool_begin(struct finder *f, uint32_t thread)
{
	const struct worker *w = worker_of(f, thread);

	if (w->queue_kind && !w->held_count && !state_is_live(f, w->current))
		begin_work(f, thread, only_request(f, w->dispatcher), w->free_since);
}

/* A worker can take its next item without a wakeup, and without a visible event. */
static void take_next(struct finder *f, uint32_t thread, uint32_t side, uint64_t target, nsec_t now)
{
	struct worker *w = worker_of(f, thread);

	if (state_is_handoff(f, w->current) && !state_at(f, w->current)->ended) {
		enum cut cut = cut_at(f, w, side, target);

		if (cut)
			cut_work(f, thread, cut, now);
	} else {
		pool_begin(f, thread);
	}
}

void pool_call(struct finder *f, uint32_t thread, uint32_t side, uint64_t object, nsec_t now)
{
	struct worker *w = worker_of(f, thread);
	uint64_t target = side_target(f, thread, object);

	take_next(f, thread, side, target, now);
	if (!state_is_handoff(f, w->current))
		return;

	struct work_state *work = state_at(f, w->current);

	if (!work->first_call) {
		work->first_call = now;
		work->taken = w->taken;
	}
	work->last_message = now;
	if (!f->sides.items[side].connect_owner.state)
		work->calls++;
	target_add(w, target);
}

void pool_receive(struct finder *f, uint32_t thread, nsec_t now)
{
	if (state_is_handoff(f, worker_of(f, thread)->current))
		state_at(f, worker_of(f, thread)->current)->last_message = now;
}

/* A thread replies to a request that another thread received: it has worked for that request. */
uint32_t pool_reply(struct finder *f, uint32_t thread, uint32_t state)
{
	struct worker *w = worker_of(f, thread);

	if (!state_is_handoff(f, w->current))
		begin_work(f, thread, state, w->free_since);

	struct work_state *work = state_at(f, w->current);
	struct request_span *span = span_at(f, w->current);

	/* the cuts of its work were wrong */
	for (uint32_t i = w->current; state_at(f, i)->origin; i = state_at(f, i)->origin)
		state_at(f, i)->part_of = state_at(f, i)->origin;
	for (uint32_t i = w->current; i; i = state_at(f, i)->origin) {
		state_at(f, i)->settled = true;
		span_at(f, i)->parent = state;
	}
	work->ended = true;
	if (span->start < span_at(f, state)->start)
		span->start = span_at(f, state)->start;
	state_at(f, state)->handoff = w->current;
	return w->current;
}
