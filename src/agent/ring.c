/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring - a thread's connection to the recorder.
 *
 * A thread keeps its ring until it exits, or until there is no recorder.  Some exits
 * bypass the agent (_exit(), SIGKILL, other threads at exit()) and leave rings that seem
 * in use.  So when no ring is free, sweep() frees the rings of threads that no longer
 * exist.  That takes some hundred microseconds, so it is done rarely.
 *
 * An abandoned ring belongs to the recorder until it is empty; without a recorder, it is
 * free.
 */
#include "agent/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_SEARCH_PAUSE 10000000u /* ns */

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
	uint64_t heartbeat = __atomic_load_n(&agent_arena->heartbeat, __ATOMIC_RELAXED);

	return arena_is_recording() && (now < heartbeat || now - heartbeat < SPAN_HEARTBEAT_MAX);
}

/* The recorder is dead: write no events until another one attaches. */
static void end_recording(void)
{
	__atomic_store_n(&agent_arena->recording, 0, __ATOMIC_RELAXED);
}

static __u64 *taken_word(size_t index)
{
	return &agent_arena->taken[index / 64];
}

/* Does nothing if the state has changed: the recorder may have freed the ring. */
static void ring_free(struct span_ring *ring, uint32_t from)
{
	size_t index = (size_t)(ring - agent_arena->rings);
	uint64_t bit = 1ull << (index % 64);

	if (!ring_change(ring, from, span_ring_with(from, SPAN_RING_CLAIMED)))
		return;
	__atomic_fetch_and(taken_word(index), ~bit, __ATOMIC_RELEASE);
	__atomic_store_n(&ring->state, span_ring_with(from, SPAN_RING_FREE), __ATOMIC_RELEASE);
}

static bool owner_is_gone(const struct span_ring *ring)
{
	return ring->pid_ns && ring->pid_ns == agent_process.pid_ns &&
	       syscall(SYS_tgkill, ring->pid, ring->tid, 0) < 0 && errno == ESRCH;
}

/* Free or abandon the rings of dead threads. */
static void sweep(uint64_t now)
{
	bool has_reader = recorder_is_alive(now);

	for (uint32_t i = 0; i < agent_process.rings; i++) {
		struct span_ring *ring = &agent_arena->rings[i];
		uint32_t word = ring_state(ring), state = word & SPAN_RING_STATE;
		bool is_orphaned = state == SPAN_RING_ABANDONED ||
				   (state == SPAN_RING_TAKEN && owner_is_gone(ring));
		bool is_empty = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) == ring->head;

		if (is_orphaned && (!has_reader || (is_empty && state == SPAN_RING_TAKEN)))
			ring_free(ring, word);
		else if (is_orphaned && state == SPAN_RING_TAKEN)
			ring_change(ring, word, span_ring_with(word, SPAN_RING_ABANDONED));
	}
}

/* Claim a free ring for a new owner. */
static bool claim_ring(struct span_ring *ring)
{
	uint32_t word = ring_state(ring);

	return (word & SPAN_RING_STATE) == SPAN_RING_FREE &&
	       ring_change(ring, word,
			   span_ring_with(word + SPAN_RING_GENERATION, SPAN_RING_CLAIMED));
}

/* Claim the first free ring, so that few pages are ever touched. */
static struct span_ring *claim(void)
{
	for (size_t i = 0; i < agent_process.rings; i++) {
		uint64_t taken = __atomic_load_n(taken_word(i), __ATOMIC_RELAXED);
		uint64_t bit = 1ull << (i % 64);

		if (taken == UINT64_MAX) {
			i |= 63;
		} else if (!(taken & bit) && claim_ring(&agent_arena->rings[i])) {
			__atomic_fetch_or(taken_word(i), bit, __ATOMIC_RELEASE);
			return &agent_arena->rings[i];
		}
	}
	return NULL;
}

static struct span_ring *claim_any(uint64_t now)
{
	struct span_ring *ring;

	if (now < agent_process.next_ring_search)
		return NULL;
	ring = claim();
	while (!ring && arena_grow())
		ring = claim();
	if (!ring) {
		sweep(now);
		ring = claim();
	}
	if (!ring)
		agent_process.next_ring_search = now + RING_SEARCH_PAUSE;
	return ring;
}

bool ring_acquire(struct agent_thread *t, uint64_t now)
{
	int saved = errno;
	struct span_ring *ring;

	ring_release(t);
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
	/* events that a dead recorder left are from another thread */
	ring->tail = ring->head;
	ring->lost_reported = ring->lost;
	t->ring_state = span_ring_with(ring->state, SPAN_RING_TAKEN);
	__atomic_store_n(&ring->state, t->ring_state, __ATOMIC_RELEASE);
	t->ring = ring;
	t->tail = ring->head;
	t->ring_epoch = agent_process.epoch;
	thread_release_ring_at_exit(t);
	errno = saved;
	return true;
}

void ring_release(struct agent_thread *t)
{
	struct span_ring *ring = t->ring;

	t->ring = NULL;
	if (!ring || epoch_generation(t->ring_epoch) != epoch_generation(agent_process.epoch))
		return; /* the ring belongs to the parent process */
	if (recorder_is_alive(clock_now()))
		ring_change(ring, t->ring_state,
			    span_ring_with(t->ring_state, SPAN_RING_ABANDONED));
	else
		ring_free(ring, t->ring_state);
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
	    !ring_acquire(t, now ? now : clock_now()))
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
