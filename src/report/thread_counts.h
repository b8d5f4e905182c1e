/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_counts - the number of threads and processes in a capture.
 *
 * Thread IDs are reused, so threads are counted rather than IDs: a TASK record with
 * event NEW, or any TASK record after an EXIT, starts another thread.  A thread that
 * comes into scope later is no longer counted as out of scope.  A thread of an unknown
 * process counts as a process of its own until its process becomes known.
 */
#ifndef SONDE_REPORT_THREAD_COUNTS_H
#define SONDE_REPORT_THREAD_COUNTS_H

#include "base/map.h"
#include "event/event.h"

/* Initialised by zeros. */
struct thread_counts {
	uint64_t threads, processes; /* in scope */
	uint64_t out_of_scope;       /* threads */
	struct map scopes;           /* tid: enum thread_scope */
	struct map pids;             /* pid in scope: number of its threads */
	struct map pid_of_tid;       /* tid in scope: pid + 1 */
};

void thread_counts_add(struct thread_counts *counts, const struct record *record);
void thread_counts_done(struct thread_counts *counts);

#endif
