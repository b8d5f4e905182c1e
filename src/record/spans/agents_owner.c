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

#include "record/spans/agents_internal.h"

/* How long to wait for the word of the kernel: less than records may be late for the sorter. */
#define PATIENCE (40 * NSEC_PER_MSEC)

enum { GENERATIONS = 64 }; /* how far back to look for one that has an arena */

/* What the kernel calls the pid namespace that everything is in; our numbers are its. */
#define FIRST_SPACE 0xeffffffcu

/*
 * Whether a process has an arena: it was found there, or in what it was forked from.
 * It may have been forked before that one made it; but then it has no ring there.
 */
static bool is_member(struct agents *a, const struct ring_reader *reader, const struct process *p)
{
	const struct attachment *attachment = agents_find_attachment(a, reader);

	for (int i = 0; p && i < GENERATIONS; i++) {
		if (map_find(&attachment->members, p->pid))
			return true;
		p = tracker_find_parent(a->tracker, p);
	}
	return false;
}

/* Our number for a thread that a ring speaks of; 0 if it cannot be found out. */
static uint32_t translate(struct agents *a, const struct ring_owner *ring, uint32_t tid)
{
	bool is_first = !ring->space || ring->space == FIRST_SPACE;

	return is_first ? tid : tracker_translate(a->tracker, ring->space, tid);
}

static bool thread_lives(uint32_t pid, uint32_t tid)
{
	return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno != ESRCH;
}

uint32_t agents_find_thread(struct agents *a, const struct ring_owner *ring, uint32_t said)
{
	const struct process *p = tracker_find(a->tracker, ring->own.pid);
	uint32_t tid = p && said ? translate(a, ring, said) : 0;
	bool is_its_own =
		tid && (tracker_find_by_thread(a->tracker, tid) == p || thread_lives(p->pid, tid));

	return is_its_own ? tid : 0;
}

static uint32_t service_of(struct agents *a, const struct ring_owner *ring, const struct process *p)
{
	if (ring->service[0])
		return span_writer_owner_string(a->span_writer, p->pid, ring->service,
						SPAN_SERVICE_MAX);
	return p->service
		       ? p->service
		       : span_writer_owner_string(a->span_writer, p->pid, p->comm, sizeof(p->comm));
}

bool agents_find_owner(struct agents *a, struct ring_reader *reader, struct ring_owner *ring)
{
	uint32_t pid = translate(a, ring, ring->pid);
	struct process *p = pid ? tracker_find(a->tracker, pid) : NULL;

	/* as that may just not have been done yet; an arena may name any process, so not always */
	if (!ring->own.seen && p && p->threads && a->scans_left && !is_member(a, reader, p)) {
		a->scans_left--;
		agents_scan_process(a, p);
	}
	if (!ring->own.seen)
		ring->own.seen = a->now;
	if (p && is_member(a, reader, p)) {
		if (!p->reader && p->threads)
			agents_add_member(a, p, reader);
		ring->own.pid = pid;
		ring->own.tid = agents_find_thread(a, ring, ring->tid);
		ring->own.service = service_of(a, ring, p);
	}
	ring->own.asked = ring->own.tid || a->now - ring->own.seen >= PATIENCE;
	return ring->own.asked;
}

bool agents_owner_is_dead(struct agents *a, struct ring_owner *ring)
{
	uint32_t pid = ring->own.tid ? ring->own.pid : translate(a, ring, ring->pid);
	uint32_t tid = ring->own.tid ? ring->own.tid : translate(a, ring, ring->tid);

	if (!ring->own.tid)
		ring->own.asked = false; /* it may come into scope */
	return pid && tid && !thread_lives(pid, tid);
}
