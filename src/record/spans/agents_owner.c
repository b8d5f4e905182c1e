/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents_owner - resolve which thread owns a ring.
 *
 * A ring contains the pid and tid of its thread as the process sees them: they may
 * belong to a pid namespace, and they may be wrong on purpose.  So this file
 * translates them, and then requires that the process is recorded and has this arena,
 * and that the thread belongs to the process, according to the kernel.  Events of
 * rings that fail these checks are discarded.
 *
 * The kernel records about a new process usually arrive one round after its ring
 * appears.  So a ring waits a little before it is rejected.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include "record/spans/agents_internal.h"

/* How long to wait for kernel records: less than the sorter tolerates late records. */
#define PATIENCE (40 * NSEC_PER_MSEC)

enum { GENERATIONS = 64 }; /* how many ancestors to search for a member */

/* The kernel's inode number of the initial pid namespace, in which the recorder counts. */
#define INITIAL_PID_NS 0xeffffffcu

/*
 * Whether a process has an arena: a scan found it in the process or in an ancestor.  The process
 * may have been forked before the ancestor created the arena, but then it has no ring there.
 */
static bool is_member(struct agents *a, const struct ring_reader *reader,
		      const struct tracked_process *p)
{
	const struct attachment *attachment = agents_find_attachment(a, reader);

	for (int i = 0; p && i < GENERATIONS; i++) {
		if (map_find(&attachment->members, p->pid))
			return true;
		p = tracker_find_parent(a->tracker, p);
	}
	return false;
}

/* Translate a tid of the owner's pid namespace; 0 if it is unknown. */
static uint32_t translate(struct agents *a, const struct ring_owner *owner, uint32_t tid)
{
	bool is_initial = !owner->pid_ns || owner->pid_ns == INITIAL_PID_NS;

	return is_initial ? tid : tracker_translate(a->tracker, owner->pid_ns, tid);
}

static bool thread_lives(uint32_t pid, uint32_t tid)
{
	return syscall(SYS_tgkill, pid, tid, 0) == 0 || errno != ESRCH;
}

uint32_t agents_find_thread(struct agents *a, const struct ring_owner *owner, uint32_t claimed)
{
	const struct tracked_process *p = tracker_find(a->tracker, owner->resolved.pid);
	uint32_t tid = p && claimed ? translate(a, owner, claimed) : 0;
	bool belongs =
		tid && (tracker_find_by_thread(a->tracker, tid) == p || thread_lives(p->pid, tid));

	return belongs ? tid : 0;
}

static uint32_t service_of(struct agents *a, const struct ring_owner *owner,
			   const struct tracked_process *p)
{
	if (owner->service[0])
		return span_writer_string(a->span_writer, p->pid, owner->service, SPAN_SERVICE_MAX);
	return p->service ? p->service
			  : span_writer_string(a->span_writer, p->pid, p->comm, sizeof(p->comm));
}

uint32_t agents_service(struct agents *a, struct ring_owner *owner)
{
	const struct tracked_process *p = NULL;

	if (owner->resolved.epoch != a->epoch)
		p = tracker_find(a->tracker, owner->resolved.pid);
	if (p) {
		owner->resolved.epoch = a->epoch;
		owner->resolved.service = service_of(a, owner, p);
	}
	return owner->resolved.service;
}

bool agents_resolve_owner(struct agents *a, struct ring_reader *reader, struct ring_owner *owner)
{
	uint32_t pid = translate(a, owner, owner->pid);
	struct tracked_process *p = pid ? tracker_find(a->tracker, pid) : NULL;

	/*
	 * The process may not have been scanned yet.  Scan it once, within a limit: a hostile
	 * arena can name any number of processes.
	 */
	if (!owner->resolved.first_seen && p && p->threads && a->scans_left &&
	    !is_member(a, reader, p)) {
		a->scans_left--;
		agents_scan_process(a, p);
	}
	if (!owner->resolved.first_seen)
		owner->resolved.first_seen = a->now;
	if (p && is_member(a, reader, p)) {
		if (!p->reader && p->threads)
			agents_add_member(a, p, reader);
		owner->resolved.pid = pid;
		owner->resolved.tid = agents_find_thread(a, owner, owner->tid);
		owner->resolved.service = service_of(a, owner, p);
		owner->resolved.epoch = a->epoch;
	}
	owner->resolved.is_final =
		owner->resolved.tid || a->now - owner->resolved.first_seen >= PATIENCE;
	return owner->resolved.is_final;
}

bool agents_owner_is_dead(struct agents *a, struct ring_owner *owner)
{
	bool is_known = owner->resolved.tid;
	uint32_t pid = is_known ? owner->resolved.pid : translate(a, owner, owner->pid);
	uint32_t tid = is_known ? owner->resolved.tid : translate(a, owner, owner->tid);

	if (!is_known)
		owner->resolved.is_final = false; /* its process may come into scope */
	return pid && tid && !thread_lives(pid, tid);
}
