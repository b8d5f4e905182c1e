/* SPDX-License-Identifier: Apache-2.0 */
/*
 * futex - how the threads of a process use a futex, in the whole model.  In a sliding window, those
 * without a wait in the window are dropped once there are many.
 *
 * A single wait shows an address and the thread that ended it.  All waits for it show more:
 * threads that take turns, each waiting and waking, share a lock; threads that only wait, for
 * threads that only wake, await a result or an item of work.
 *
 * The words of one object count as one futex if they are in the same 8 bytes: glibc's condition
 * variables and rwlocks alternate between two adjacent words.
 */
#ifndef SONDE_MODEL_FUTEX_H
#define SONDE_MODEL_FUTEX_H

#include "model/model.h"

struct futex {
	nsec_t last; /* end of the last wait */
	uint32_t waits;
	uint32_t turns; /* waits of 5 ms that a timer ended */
	bool upper;     /* whether threads waited at the second word, as for a condition variable */
	bool is_rwlock; /* whether a thread waited as only those of an rwlock do */
	bool mutual;    /* whether a thread has both waited and woken another one */
};

/* The futex at an address in a thread's process; NULL if no wait for it is recorded. */
const struct futex *model_futex(const struct model *model, thread_id id, uint64_t address);

/* Whether a wait for a futex was one of the turns in which Python's threads wait for the GIL. */
bool futex_is_turn(const struct cause *cause, nsec_t woken);

/* A language runtime that schedules or locks in its own way. */
enum runtime { RUNTIME_UNKNOWN, RUNTIME_PYTHON, RUNTIME_JVM, RUNTIME_GO };

enum runtime model_runtime(const struct model *model, thread_id id);

/* For model.c: adds a wait that ended at `woken`. */
void model_note_wait(struct model *model, thread_id id, const struct cause *cause, nsec_t woken);

#endif
