/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring - a thread's own way to the recorder.
 *
 * A thread that takes a ring has it until it ends, or until nobody is left to read
 * it.  Ends that nobody tells us of (_exit(), SIGKILL, threads beside the one that
 * calls exit()) leave rings that seem taken: when there is no free one, all are
 * looked through for owners that do not exist any more.  That takes some
 * hundred microseconds, and so is done rarely.
 *
 * A ring that was left belongs to the recorder until it is empty; if the recorder
 * itself is gone, it is free.
 */
#include "agent/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_AGAIN 10000000u /* ns */

static uint32_t ring_state(const struct span_ring *ring)
{
	return __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE);
}

static bool ring_change(struct span_ring *ring, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&ring->state, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static bool recorder_is_alive(uint64_t now)
{
	uint64_t beat = __atomic_load_n(&agent_arena->heartbeat, __ATOMIC_RELAXED);

	return arena_is_recording() && (now < beat || now - beat < SPAN_HEARTBEAT_MAX);
}

/* Nobody reads: then nobody writes either, until one comes. */
static void end_recording(void)
{
	__atomic_store_n(&agent_arena->recording, 0, __ATOMIC_RELAXED);
}

static __u64 *taken_word(size_t index)
{
	return &agent_arena->taken[index / 64];
}

/* Unless the recorder has done so meanwhile: then another may have it already. */
static void ring_free(struct span_ring *ring, uint32_t from)
{
	size_t index = (size_t)(ring - agent_arena->rings);
	uint64_t bit = 1ull << (index % 64);

	__atomic_fetch_and(taken_word(index), ~bit, __ATOMIC_RELEASE);
	if (!ring_change(ring, from, SPAN_RING_FREE))
		__atomic_fetch_or(taken_word(index), bit, __ATOMIC_RELEASE);
}

static bool owner_is_gone(const struct span_ring *ring)
{
	return ring->pid_ns && ring->pid_ns == agent_process.pid_ns &&
	       syscall(SYS_tgkill, ring->pid, ring->tid, 0) < 0 && errno == ESRCH;
}

/* Take from the dead. */
static void sweep(uint64_t now)
{
	bool is_read = recorder_is_alive(now);

	for (uint32_t i = 0; i < agent_process.rings; i++) {
		struct span_ring *ring = &agent_arena->rings[i];
		uint32_t state = ring_state(ring);
		bool is_left = state == SPAN_RING_ABANDONED ||
			       (state == SPAN_RING_TAKEN && owner_is_gone(ring));
		bool is_empty = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) == ring->head;

		if (is_left && (!is_read || (is_empty && state == SPAN_RING_TAKEN)))
			ring_free(ring, state);
		else if (is_left && state == SPAN_RING_TAKEN)
			ring_change(ring, SPAN_RING_TAKEN, SPAN_RING_ABANDONED);
	}
}

/* The first that is free, so that few pages are ever touched. */
static struct span_ring *claim(void)
{
	for (size_t i = 0; i < agent_process.rings; i++) {
		uint64_t taken = __atomic_load_n(taken_word(i), __ATOMIC_RELAXED);
		uint64_t bit = 1ull << (i % 64);

		if (taken == UINT64_MAX) {
			i |= 63;
		} else if (!(taken & bit) &&
			   ring_change(&agent_arena->rings[i], SPAN_RING_FREE, SPAN_RING_CLAIMED)) {
			__atomic_fetch_or(taken_word(i), bit, __ATOMIC_RELEASE);
			return &agent_arena->rings[i];
		}
	}
	return NULL;
}

static struct span_ring *claim_any(uint64_t now)
{
	struct span_ring *ring;

	if (now < agent_process.no_ring)
		return NULL;
	ring = claim();
	while (!ring && arena_grow())
		ring = claim();
	if (!ring) {
		sweep(now);
		ring = claim();
	}
	if (!ring)
		agent_process.no_ring = now + LOOK_AGAIN;
	return ring;
}

bool ring_take(struct agent_thread *t, uint64_t now)
{
	int saved = errno;
	struct span_ring *ring;

	ring_leave(t);
	if (!recorder_is_alive(now)) {
		end_recording();
		errno = saved;
		return false;
	}
	ring = claim_any(now);
	if (!ring) {
		__atomic_add_fetch(&agent_arena->lost_without_ring, 1, __ATOMIC_RELAXED);
		errno = saved;
		return false;
	}
	t->tid = (uint32_t)syscall(SYS_gettid);
	ring->pid = agent_process.pid;
	ring->tid = t->tid;
	ring->pid_ns = agent_process.pid_ns;
	memcpy(ring->service, agent_service, sizeof(ring->service));
	/* what a dead recorder left there is another thread's */
	ring->tail = ring->head;
	ring->lost_reported = ring->lost;
	__atomic_store_n(&ring->state, SPAN_RING_TAKEN, __ATOMIC_RELEASE);
	t->ring = ring;
	t->tail = ring->head;
	t->ring_epoch = agent_process.epoch;
	thread_note_ring(t);
	errno = saved;
	return true;
}

void ring_leave(struct agent_thread *t)
{
	struct span_ring *ring = t->ring;

	t->ring = NULL;
	if (!ring || epoch_generation(t->ring_epoch) != epoch_generation(agent_process.epoch))
		return; /* the parent's */
	if (recorder_is_alive(clock_now()))
		ring_change(ring, SPAN_RING_TAKEN, SPAN_RING_ABANDONED);
	else
		ring_free(ring, SPAN_RING_TAKEN);
}

void ring_drop(struct agent_thread *t, uint64_t now)
{
	struct span_ring *ring = t->ring;

	if (ring->lost == __atomic_load_n(&ring->lost_reported, __ATOMIC_ACQUIRE))
		ring->lost_first = now;
	ring->lost_last = now;
	__atomic_add_fetch(&ring->lost, 1, __ATOMIC_RELEASE);
	if (!recorder_is_alive(now))
		end_recording();
}

void ring_drop_nested(struct agent_thread *t)
{
	if (!arena_is_recording())
		return;
	if (t->ring && t->ring_epoch == agent_process.epoch) {
		t->ring->event_count++;
		ring_drop(t, clock_now());
	} else {
		__atomic_add_fetch(&agent_arena->lost_without_ring, 1, __ATOMIC_RELAXED);
	}
}

static bool has_room(struct agent_thread *t, size_t size)
{
	return t->ring->head + size - t->tail <= SPAN_RING_SIZE;
}

void *ring_reserve(struct agent_thread *t, size_t size, uint64_t now)
{
	if (unlikely(!t->ring || t->ring_epoch != agent_process.epoch) &&
	    !ring_take(t, now ? now : clock_now()))
		return NULL;
	t->ring->event_count++;
	if (unlikely(!has_room(t, size))) {
		t->tail = __atomic_load_n(&t->ring->tail, __ATOMIC_ACQUIRE);
		if (!has_room(t, size)) {
			ring_drop(t, now ? now : clock_now());
			return NULL;
		}
	}
	return t->ring->data + t->ring->head % SPAN_RING_SIZE;
}

void ring_commit(struct agent_thread *t, size_t size)
{
	__atomic_store_n(&t->ring->head, t->ring->head + size, __ATOMIC_RELEASE);
}
