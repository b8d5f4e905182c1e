/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_kind - what kind of thing a thread waits for when another thread has to release it, in
 * the words of its program, as far as the evidence allows.
 *
 * Evidence: operation and value of the futex (event/futex.h), how all threads of the process use
 * it (model/futex.h), the runtime of the process, the stack of the wait.
 */
#ifndef SONDE_ANALYSE_LOCK_KIND_H
#define SONDE_ANALYSE_LOCK_KIND_H

#include "model/model.h"

enum lock_kind {
	LOCK_NONE,      /* the wait is not for another thread's release */
	LOCK_PLAIN,     /* mutex, or another lock that one thread holds at a time */
	LOCK_SHARED,    /* rwlock: several readers can hold it */
	LOCK_SEMAPHORE, /* semaphore that is used as a lock */
	LOCK_GIL,       /* global interpreter lock of Python */
	LOCK_RESULT,    /* result of another thread: a future, a condition, its exit */
	LOCK_ANY,       /* a lock or a result: the kernel does not show which */
	LOCK_SAFEPOINT, /* the JVM stops its threads, for example to collect garbage */
	LOCK_GO,        /* parked by the Go scheduler: the kernel does not show why */
	LOCK_FILE,      /* file lock: flock(), fcntl() */
	LOCK_KERNEL,    /* lock in the kernel, such as that of an address space */
	LOCK_BACKEND,   /* lock of PostgreSQL that another backend holds, such as a row lock */
};

enum lock_kind lock_kind_of(const struct model *model, thread_id thread, uint8_t state,
			    const struct cause *cause);

/* The name in JSON output; NULL for LOCK_NONE. */
const char *lock_kind_name(enum lock_kind kind);

#endif
