/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task_table - the living threads in scope, to describe them again in each epoch of a stream.
 *
 * It is fed with the records of the kernel programs in order of time.  A thread whose EXIT was
 * lost is removed when it is found to be gone.
 */
#ifndef SONDE_RECORD_TASK_TABLE_H
#define SONDE_RECORD_TASK_TABLE_H

#include "base/base.h"
#include "base/map.h"
#include "base/vec.h"
#include "bpf/wire.h"

struct living_task {
	struct record_task task; /* its last TASK record; `comm` is not used */
	char comm[16];
	char *cmdline, *cgroup;        /* of the main thread of a process; or NULL */
	struct record_context context; /* the last one; head.words is 0 if there is none */
};

struct task_table {       /* empty if all zero */
	struct map index; /* tid -> index in `tasks` */
	VEC(struct living_task) tasks;
};

void task_table_done(struct task_table *t);

/* NULL if unknown. */
struct living_task *task_table_find(const struct task_table *t, uint32_t tid);

/* Add or update a thread; threads out of scope are ignored. */
void task_table_add(struct task_table *t, const struct wire_task *wire);
void task_table_remove(struct task_table *t, uint32_t tid);

/* Copies the texts. */
void task_table_set_process(struct task_table *t, uint32_t pid, const char *cmdline,
			    const char *cgroup);

/* Remove the threads that do not exist any more: one system call for each thread. */
void task_table_sweep(struct task_table *t);

#endif
