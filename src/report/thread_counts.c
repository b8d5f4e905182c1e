/* SPDX-License-Identifier: Apache-2.0 */
#include "report/thread_counts.h"

enum thread_scope { SCOPE_NONE, SCOPE_IN, SCOPE_OUT };

static void join_process(struct thread_counts *counts, const struct record_task *r)
{
	uint64_t *threads = map_insert(&counts->pids, r->pid);

	if (r->event == TASK_NEW && r->pid == r->head.tid)
		*threads = 0; /* a new process with a reused ID */
	if (!(*threads)++)
		counts->processes++;
	*map_insert(&counts->pid_of_tid, r->head.tid) = (uint64_t)r->pid + 1;
}

/*
 * The first record of a thread can have a preliminary process, if the trace does not contain its
 * creation.  A process that loses its only thread this way does not count.
 */
static void change_process(struct thread_counts *counts, const struct record_task *r)
{
	const uint64_t *pid = map_find(&counts->pid_of_tid, r->head.tid);
	uint64_t *threads = pid ? map_find(&counts->pids, *pid - 1) : NULL;

	if (!threads || *pid == (uint64_t)r->pid + 1)
		return;
	if (*threads && !--*threads)
		counts->processes--;
	join_process(counts, r);
}

static void add_task(struct thread_counts *counts, const struct record_task *r)
{
	uint64_t *scope = map_insert(&counts->scopes, r->head.tid);

	if (r->event == TASK_NEW)
		*scope = SCOPE_NONE;
	if (r->event == TASK_OUT_OF_SCOPE) {
		if (*scope == SCOPE_NONE) {
			*scope = SCOPE_OUT;
			counts->out_of_scope++;
		}
		return;
	}
	if (*scope == SCOPE_IN) {
		change_process(counts, r);
		return;
	}
	if (*scope == SCOPE_OUT)
		counts->out_of_scope--;
	*scope = SCOPE_IN;
	counts->threads++;
	join_process(counts, r);
}

void thread_counts_add(struct thread_counts *counts, const struct record *record)
{
	if (record->kind == RECORD_TASK)
		add_task(counts, (const void *)record);
	else if (record->kind == RECORD_EXIT)
		*map_insert(&counts->scopes, record->tid) = SCOPE_NONE;
}

void thread_counts_done(struct thread_counts *counts)
{
	map_done(&counts->scopes);
	map_done(&counts->pids);
	map_done(&counts->pid_of_tid);
}
