/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracker - which processes are recorded, and when to scan them.
 *
 * A scan finds out what a process publishes, and takes about 100 microseconds.
 * When to scan depends on how the process came into scope:
 *
 *	it already existed	in the next round: its libraries are loaded, and spans
 *				that end before the scan are missed
 *	it called execve()	15 ms later, when its libraries are loaded; if the scan
 *				finds nothing, again after ever longer pauses, because
 *				the program may load a library later
 *	it was forked		a second later, if it still exists: a child inherits
 *				what its parent publishes, and most children are gone soon
 *
 * Each round of the recorder spends a limited time on scans.
 *
 * The tracker learns about processes from the records of the kernel programs.  It
 * remembers a process for a second after its exit, because the spans that the process
 * left behind are read later.
 */
#ifndef SONDE_RECORD_SPANS_TRACKER_H
#define SONDE_RECORD_SPANS_TRACKER_H

#include "base/base.h"
#include "event/event.h"
#include "record/spans/ring_reader.h"

struct tracked_process {
	uint32_t pid;
	uint32_t threads; /* alive */
	char comm[16];
	uint32_t image; /* number of the execve() or fork that made it, unique in this recording */
	uint32_t parent, parent_image; /* pid and image of the fork parent; 0 after an execve() */

	/* results of scans, owned by the caller */
	struct ring_reader *reader; /* borrowed; NULL if none */
	uint32_t service;           /* string from its process context; 0 if none */
	nsec_t context_since;       /* when reading its thread contexts began; 0 if it did not */

	/* private to the tracker */
	uint8_t pause;       /* index of the pause before the next scan */
	uint32_t remembered; /* threads alive or recently exited */
};

struct tracker_callbacks {
	/* Scan a process: 1 if complete, 0 if a later scan may find more, -ESRCH if it is gone. */
	int (*scan)(void *arg, struct tracked_process *process);
	/* A process forked a child, which inherits what its parent publishes. */
	void (*forked)(void *arg, struct tracked_process *child,
		       const struct tracked_process *parent, nsec_t time);
	/* The program of a process has ended: by exit or by execve(). */
	void (*ended)(void *arg, struct tracked_process *process, nsec_t time);
	void *arg;
};

struct tracker;

struct tracker *tracker_new(const struct tracker_callbacks *callbacks);
void tracker_free(struct tracker *tracker);
DEFINE_FREEP(tracker)

/* Add a record of the kernel programs, in order of time.  Uses RECORD_TASK and RECORD_EXIT. */
void tracker_add_record(struct tracker *tracker, const struct record *record, nsec_t now);

/* Scan the processes that are due, and forget those that exited long ago. */
void tracker_run(struct tracker *tracker, nsec_t now);

/* Whether a process that existed when it came into scope still waits for its first scan. */
bool tracker_has_unscanned(const struct tracker *tracker);

/* The process is gone although the kernel programs did not report its exit. */
void tracker_mark_gone(struct tracker *tracker, struct tracked_process *process, nsec_t now);

/* Call fn for all processes; fn may mark them as gone. */
void tracker_each(struct tracker *tracker, void (*fn)(void *arg, struct tracked_process *process),
		  void *arg);

/* The number of processes that have not exited. */
size_t tracker_count_alive(const struct tracker *tracker);

/* A recorded process, by its pid or by one of its threads; NULL if it is not recorded. */
struct tracked_process *tracker_find(const struct tracker *tracker, uint32_t pid);
struct tracked_process *tracker_find_by_thread(const struct tracker *tracker, uint32_t tid);

/* The process that forked this one; NULL if it is forgotten, or since an execve(). */
struct tracked_process *tracker_find_parent(const struct tracker *tracker,
					    const struct tracked_process *process);

/* Translate a tid of a pid namespace other than the initial one; 0 if it is not recorded. */
uint32_t tracker_translate(const struct tracker *tracker, uint32_t pid_ns, uint32_t ns_tid);

#endif
