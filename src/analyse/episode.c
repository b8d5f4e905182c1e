/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/episode.h"

#include "analyse/lock_kind.h"
#include "event/thread_state.h"
#include "model/futex.h"

/* Longest time on a CPU that can be a look, ns; also at most a part of the wait before it. */
#define LOOK_MAX 2000000
enum { LOOK_PART = 4 };
/* The same after a wakeup by a thread, in vain: longer, and the thread has done something. */
#define SPURIOUS_MAX 30000

/* Bounds the cost; a longer episode is several ones. */
enum { PARTS_MAX = 1024, BACK_MAX = 16, POLLING_MIN = 3 };

static bool ended_by_timer(const struct cause *cause)
{
	return state_by_interrupt(&(struct wake){ .context = cause->context,
						  .vector = cause->vector }) == STATE_TIMER;
}

static bool is_same_thing(const struct cause *a, const struct cause *b)
{
	enum syscall_class class = syscall_class_of(a->syscall);

	if (a->syscall != b->syscall || a->object_kind != b->object_kind)
		return false;
	if (a->object_kind == OBJECT_FUTEX)
		return a->object >> 3 == b->object >> 3;
	return class == SYSCALL_SLEEP || class == SYSCALL_POLL ||
	       (a->object && a->object == b->object);
}

/*
 * The JVM parks each thread on a futex of its own, whatever it waits for, and sleeps there, too;
 * in Go, threads do not belong to what they wait for.
 */
static bool is_parked(const struct model *model, thread_id id, const struct cause *cause)
{
	enum runtime runtime = model_runtime(model, id);

	return cause->object_kind == OBJECT_FUTEX &&
	       (runtime == RUNTIME_JVM || runtime == RUNTIME_GO);
}

/* Whether a thread was woken in vain: it waits for a signal that was meant for another thread. */
static bool may_be_spurious(const struct model *model, thread_id id, const struct cause *cause)
{
	const struct futex *futex = model_futex(model, id, cause->object);

	return cause->context == WAKE_TASK && cause->object_kind == OBJECT_FUTEX &&
	       cause->flags & INTERVAL_CONDVAR && futex && !futex->mutual;
}

/* The longest time on a CPU that is only a look after a wait; 0 if the wait was not in vain. */
static nsec_t look_max(const struct model *model, thread_id id, const struct stretch *wait,
		       const struct cause *cause)
{
	nsec_t part = (wait->end - wait->interval.start) / LOOK_PART;

	if (ended_by_timer(cause))
		return part < LOOK_MAX ? part : LOOK_MAX;
	return may_be_spurious(model, id, cause) && !is_parked(model, id, cause) ? SPURIOUS_MAX : 0;
}

static bool has_item(const struct timeline *timeline, nsec_t from, nsec_t to)
{
	timeline_pos pos;

	return timeline_from(timeline, from, &pos) &&
	       *(const nsec_t *)timeline_at(timeline, pos) <= to;
}

/* Moves to the next wait, if there is only a look before it. */
static bool next_part(const struct model *model, thread_id id, struct stretch *wait, nsec_t look)
{
	const struct thread *thread = model_thread(model, id);
	struct stretch next = *wait;
	nsec_t ran = 0;

	while (model_stretch_next(model, id, &next) && !state_is_blocked(next.interval.state)) {
		if (next.interval.state == STATE_GAP)
			return false;
		if (next.interval.state == STATE_RUNNING)
			ran += next.end - next.interval.start;
		if (ran > look)
			return false;
	}
	if (!state_is_blocked(next.interval.state) || next.interval.start <= wait->interval.start ||
	    next.interval.flags & INTERVAL_OPEN ||
	    has_item(thread->timelines[TIMELINE_MESSAGES], wait->end, next.interval.start) ||
	    has_item(thread->timelines[TIMELINE_BLOCK_IO], wait->end, next.interval.start))
		return false;
	*wait = next;
	return true;
}

/*
 * Before this time, a thread cannot have waited for the thread that ends its wait: it created
 * that thread (to join it, again at the address of the one before), or woke it.
 */
static nsec_t not_awaited_before(const struct model *model, thread_id by, const struct cause *cause,
				 nsec_t end)
{
	struct stretch s;

	if (cause->context != WAKE_TASK)
		return 0;
	for (int i = 0; i < BACK_MAX && model_stretch_before(model, cause->waker, end, &s); i++) {
		const struct cause *c = state_is_blocked(s.interval.state)
						? model_cause(model, cause->waker, &s.interval)
						: NULL;

		if (c && c->context == WAKE_TASK && c->waker.i == by.i)
			return s.end;
		end = s.interval.start;
	}

	const struct thread *waker = model_thread(model, cause->waker);

	return waker->parent.i ? waker->begin : 0; /* otherwise, only when it was first recorded */
}

/*
 * The state of the parts: that of the last, unless more is known of what it waited for.  A thread
 * that gets the GIL when its turn ends is not woken by the holder.
 */
static uint8_t state_of(const struct model *model, thread_id id, const struct stretch *last,
			const struct cause *cause)
{
	bool is_lock =
		lock_kind_of(model, id, last->interval.state, cause) == LOCK_BACKEND ||
		(ended_by_timer(cause) && lock_kind_of(model, id, STATE_LOCK, cause) == LOCK_GIL);

	return is_lock ? STATE_LOCK : last->interval.state;
}

struct episode episode_from(const struct model *model, thread_id id, const struct stretch *wait)
{
	const struct cause *first = model_cause(model, id, &wait->interval), *cause = first;
	struct episode e = { .last = *wait, .parts = 1, .state = wait->interval.state };
	struct stretch part = *wait;

	while (cause && e.parts < PARTS_MAX) {
		nsec_t look = look_max(model, id, &part, cause);
		const struct cause *next;

		if (!look || !next_part(model, id, &part, look))
			break;
		next = model_cause(model, id, &part.interval);
		if (!next || part.interval.state == STATE_UNKNOWN || !is_same_thing(cause, next) ||
		    (!ended_by_timer(next) && is_parked(model, id, next)) ||
		    not_awaited_before(model, id, next, part.end) >= e.last.end)
			break;
		cause = next;
		e.last = part;
		e.parts++;
	}
	if (cause && not_awaited_before(model, id, cause, e.last.end) >= wait->end)
		return (struct episode){ .last = *wait, .parts = 1, .state = wait->interval.state };
	e.is_polling = cause && e.parts >= POLLING_MIN && ended_by_timer(cause) &&
		       syscall_class_of(cause->syscall) == SYSCALL_SLEEP;
	if (cause)
		e.state = state_of(model, id, &e.last, cause);
	return e;
}

struct episode episode_cached(struct episode_cache *cache, const struct model *model, thread_id id,
			      const struct stretch *wait)
{
	uint64_t *at = map_insert(&cache->index, id.i);
	struct cached_episode *c;
	nsec_t start = wait->interval.start;

	if (!*at) {
		*vec_push(&cache->items) = (struct cached_episode){ 0 };
		*at = cache->items.count;
	}
	c = &cache->items.items[*at - 1];
	if (!c->episode.parts || start < c->first || start > c->episode.last.interval.start)
		*c = (struct cached_episode){ start, episode_from(model, id, wait) };
	return c->episode;
}

void episode_cache_done(struct episode_cache *cache)
{
	map_done(&cache->index);
	vec_done(&cache->items);
}
