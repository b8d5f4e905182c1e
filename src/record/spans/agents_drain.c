/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents_drain - take the events out of the arenas, at a bounded cost.
 *
 * A process can fill its rings faster than they are emptied: by honest work, or by
 * just moving a number.  Its events must not keep the recorder from the rings of
 * the kernel programs or of other processes.  So each arena has a budget of time
 * in each round and an allowance of bytes over time.  Events beyond these stay in
 * the arena, where the agent drops new ones and counts them.  Events that are too
 * old when they are taken, because of that, are dropped here and count as a loss of
 * that process: records before and after them are written already.
 */
#include "base/base.h"
#include "record/spans/agents_internal.h"
#include "record/clock.h"

/* Time in one round for all arenas, and for one. */
#define ROUND_TIME (20 * NSEC_PER_MSEC)
#define ARENA_TIME (5 * NSEC_PER_MSEC)
/* Time at the end of the recording for all, and for one. */
#define END_TIME (1 * NSEC_PER_SEC)
#define ARENA_END_TIME (250 * NSEC_PER_MSEC)

/* Bytes per second, of events or of the records made of them, and at a time. */
#define BYTES_PER_SEC (256ull << 20)
#define BYTES_MAX (64ull << 20)

/* Records older than this may be out of order when they are written. */
#define AGE_MAX (40 * NSEC_PER_MSEC)

enum {
	LOOKS = 4,    /* into processes that rings name, in one round */
	SAY_OVER = 8, /* name so many processes that write too much */
};

/* For tap_sink, from here on. */
static bool is_ready(void *arg, struct tap *tap, struct tap_ring *ring)
{
	return ring->own.asked || agents_find_owner(arg, tap, ring);
}

static bool is_too_old(const struct agents *a, const struct hold *hold,
		       const struct span_event *event)
{
	return hold->was_over && event->time < a->now - AGE_MAX;
}

static void take_event(void *arg, struct tap *tap, struct tap_ring *ring,
		       const struct span_event *event)
{
	struct agents *a = arg;
	struct hold *hold = &a->holds.items[a->drained];
	const struct span_event_end *end = (const void *)event;
	size_t before = scribe_gathered(a->scribe);
	struct scribe_who who = { tap_inode(tap), ring->own.pid, ring->own.tid, ring->own.tid,
				  ring->own.service };

	if (!who.pid) {
		counter_add(a->config.counters, COUNTER_EVENTS_OUT_OF_SCOPE, 1);
		return;
	}
	if (is_too_old(a, hold, event)) {
		counter_add(a->config.counters, COUNTER_EVENTS_TOO_OLD, 1);
		hold->too_many++;
		return;
	}
	if (event->kind == SPAN_EVENT_END && end->tid != ring->tid)
		who.begun_by = agents_find_thread(a, ring, end->tid);
	scribe_event(a->scribe, &who, event, a->until);
	tap_budget_take(&a->budget, scribe_gathered(a->scribe) - before);
}

uint32_t agents_first_member(const struct hold *hold)
{
	uint64_t pid, until, first = 0;

	for (size_t pos = 0; map_next(&hold->members, &pos, &pid, &until);)
		first = !first || pid < first ? pid : first;
	return first;
}

static void take_loss(void *arg, struct tap *tap, struct tap_ring *ring, nsec_t first, nsec_t last,
		      uint64_t count)
{
	struct agents *a = arg;
	uint32_t pid = ring ? 0 : agents_first_member(agents_find_hold(a, tap));

	if (pid)
		scribe_loss(a->scribe, pid, a->before, last, count, a->now);
	else if (ring && ring->own.pid)
		scribe_loss(a->scribe, ring->own.tid ? ring->own.tid : ring->own.pid, first, last,
			    count, a->now);
	tap_budget_take(&a->budget, sizeof(struct record_loss));
}

/* The memory of an arena is gone, and with it the spans that were there. */
static void lose_hold(struct agents *a, size_t i)
{
	struct hold *hold = &a->holds.items[i];
	uint32_t first = agents_first_member(hold);
	uint64_t pid, until;

	for (size_t pos = 0; map_next(&hold->members, &pos, &pid, &until);) {
		struct process *p = watch_process(a->watch, pid);

		if (p && p->tap == hold->tap)
			p->tap = NULL;
	}
	agents_say_once(a, &a->said_lost,
			"process %u truncated the memory of its agent: its spans are lost", first);
	agents_drop_hold(a, i);
}

static void add_loss(struct agents *a, struct hold *hold, uint64_t count)
{
	if (count)
		scribe_loss(a->scribe, agents_first_member(hold), a->before, a->now, count, a->now);
}

static void say_over(struct agents *a, struct hold *hold)
{
	if (hold->said_over || a->said_over == SAY_OVER)
		return;
	a->said_over++;
	agents_say_once(a, &hold->said_over,
			"process %u writes spans faster than they can be recorded: some of its "
			"spans are lost",
			agents_first_member(hold));
}

/* To find a ring's owner can attach to other arenas: pointers to holds do not last. */
static unsigned int drain_hold(struct agents *a, size_t i, nsec_t time, nsec_t end)
{
	const struct tap_sink sink = { is_ready, take_event, take_loss, a, a->config.counters };
	struct tap *tap = a->holds.items[i].tap;
	nsec_t deadline = clock_now() + time;

	a->drained = i;
	a->holds.items[i].too_many = 0;
	a->budget = (struct tap_budget){ .bytes = a->holds.items[i].allowance,
					 .deadline = deadline < end ? deadline : end };
	tap_set_budget(tap, &a->budget);

	unsigned int fill = tap_drain(tap, &sink);
	struct hold *hold = &a->holds.items[i];

	tap_set_budget(tap, NULL);
	hold->allowance = a->budget.bytes;
	hold->was_over = a->budget.is_spent;
	add_loss(a, hold, hold->too_many);
	if (hold->too_many)
		say_over(a, hold);
	return fill;
}

static void close_ended(struct agents *a)
{
	if (a->ended.count)
		scribe_close(a->scribe, &a->ended);
	map_done(&a->ended);
}

static void add_allowance(struct hold *hold, uint64_t bytes)
{
	bool is_full = hold->allowance > BYTES_MAX || bytes > BYTES_MAX - hold->allowance;

	hold->allowance = is_full ? BYTES_MAX : hold->allowance + bytes;
}

unsigned int agents_drain_taps(struct agents *a)
{
	nsec_t end = clock_now() + ROUND_TIME;
	uint64_t more = (a->now - a->before) * (BYTES_PER_SEC / NSEC_PER_MSEC) / 1000;
	size_t count = a->holds.count, done = 0;
	unsigned int fill = 0;

	a->looks_left = LOOKS;
	for (; done < count && (done == 0 || clock_now() < end); done++) {
		size_t i = (a->next_hold + done) % count;
		add_allowance(&a->holds.items[i], more);

		unsigned int filled = drain_hold(a, i, ARENA_TIME, end);

		fill = filled > fill ? filled : fill;
	}
	a->next_hold = count ? (a->next_hold + done) % count : 0;
	for (size_t i = a->holds.count; i-- > 0;)
		if (tap_is_lost(a->holds.items[i].tap))
			lose_hold(a, i);
	close_ended(a);
	return fill;
}

void agents_drain_taps_at_end(struct agents *a)
{
	nsec_t end = clock_now() + END_TIME;

	a->looks_left = LOOKS;
	for (size_t i = 0; i < a->holds.count; i++) {
		a->holds.items[i].allowance = BYTES_MAX;
		drain_hold(a, i, ARENA_END_TIME, end);

		struct hold *hold = &a->holds.items[i];

		uint64_t left = clock_now() < end ? tap_left(hold->tap) : 0;

		counter_add(a->config.counters, COUNTER_EVENTS_LEFT, left);
		if (hold->was_over) {
			add_loss(a, hold, left ? left : 1);
			say_over(a, hold);
		}
	}
	close_ended(a);
}
