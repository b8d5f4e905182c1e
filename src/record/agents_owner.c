/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents_owner - whose ring is it?
 *
 * A ring says pid and tid, as its process sees them: perhaps in a namespace of
 * its own, perhaps a lie.  So the numbers are translated, and then the process
 * must be one that is recorded and that has this arena, and the thread must be
 * one of its own, as the kernel has told or tells now.  What fails is nobody's.
 *
 * The kernel's word may come after the ring is first seen: by a round, mostly.
 * So the ring waits a little.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include "record/agents_parts.h"
#include "record/pid_space.h"

/* How long to wait for the word of the kernel. */
#define PATIENCE (100 * NSEC_PER_MSEC)

static bool is_member(struct agents *a, const struct tap *tap, uint32_t pid)
{
	const struct hold *hold = agents_find_hold(a, tap);

	return hold && map_find(&hold->members, pid);
}

/* A process that has this arena and is in that namespace; NULL if there is none. */
static struct process *find_in_space(struct agents *a, const struct tap *tap, uint32_t space)
{
	const struct hold *hold = agents_find_hold(a, tap);
	uint64_t pid, until;

	for (size_t pos = 0; map_next(&hold->members, &pos, &pid, &until);) {
		struct process *p = watch_process(a->watch, pid);

		if (!p || !p->threads)
			continue;
		if (p->space != space) /* a forked child may have gone to one of its own */
			p->space = pid_space_of(p->pid);
		if (p->space == space)
			return p;
	}
	return NULL;
}

static bool is_our_space(const struct agents *a, const struct tap_ring *ring)
{
	return !ring->space || ring->space == a->space;
}

/* Our number for a thread that a ring speaks of; 0 if it cannot be found out. */
static uint32_t translate(struct agents *a, const struct tap *tap, const struct tap_ring *ring,
			  uint32_t tid)
{
	if (is_our_space(a, ring))
		return tid;

	const struct process *p = find_in_space(a, tap, ring->space);

	return p ? pid_space_translate(p->pid, tid) : 0;
}

static bool thread_lives(uint32_t pid, uint32_t tid)
{
	return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno != ESRCH;
}

uint32_t agents_find_thread(struct agents *a, struct tap *tap, const struct tap_ring *ring,
			    uint32_t said)
{
	const struct process *p = watch_process(a->watch, ring->own.pid);
	uint32_t tid = p && said ? translate(a, tap, ring, said) : 0;
	bool is_its_own = tid && (watch_thread(a->watch, tid) == p || thread_lives(p->pid, tid));

	return is_its_own ? tid : 0;
}

static uint32_t service_of(struct agents *a, const struct tap_ring *ring, const struct process *p)
{
	if (ring->service[0])
		return scribe_string(a->scribe, ring->service, SPAN_SERVICE_MAX);
	return p->service ? p->service : scribe_string(a->scribe, p->comm, sizeof(p->comm));
}

bool agents_find_owner(struct agents *a, struct tap *tap, struct tap_ring *ring)
{
	uint32_t pid = translate(a, tap, ring, ring->pid);
	struct process *p = pid ? watch_process(a->watch, pid) : NULL;

	if (!ring->own.seen && p && p->threads && !is_member(a, tap, pid))
		agents_look(a, p); /* as that may just not have been done yet */
	if (!ring->own.seen)
		ring->own.seen = a->now;
	if (p && is_member(a, tap, pid)) {
		ring->own.pid = pid;
		ring->own.tid = agents_find_thread(a, tap, ring, ring->tid);
		ring->own.service = service_of(a, ring, p);
	}
	ring->own.asked = ring->own.tid || a->now - ring->own.seen >= PATIENCE;
	return ring->own.asked;
}

bool agents_owner_is_dead(struct agents *a, struct tap *tap, struct tap_ring *ring)
{
	if (ring->own.tid)
		return !thread_lives(ring->own.pid, ring->own.tid);
	ring->own.asked = false; /* it may come into scope */
	if (is_our_space(a, ring))
		return !thread_lives(ring->pid, ring->tid);

	const struct process *p = find_in_space(a, tap, ring->space);

	return p && !pid_space_translate(p->pid, ring->tid);
}
