/* SPDX-License-Identifier: Apache-2.0 OR (BSD-2-Clause OR GPL-2.0-only) */
/*
 * futex - what the arguments of futex() show of the thing that a thread waits for.
 *
 * The kernel sees only an address.  But the C libraries and runtimes use few operations, and
 * the value that the waiter expects at the address is often characteristic:
 *
 *	glibc mutex			WAIT		2
 *	glibc rwlock			WAIT_BITSET	2 or 3
 *	Rust mutex			WAIT_BITSET	2
 *	glibc condition variable	WAIT_BITSET	0 (before glibc 2.41)
 *	glibc semaphore			WAIT_BITSET	0
 *	pthread_join()			WAIT_BITSET	the tid of the thread
 *	std::future			WAIT, shared	1 << 31
 *	Go, a thread without work	WAIT		0
 *
 * Compiled into the kernel programs and into the readers of foreign traces.
 */
#ifndef SONDE_EVENT_FUTEX_H
#define SONDE_EVENT_FUTEX_H

#include <linux/types.h>

#define FUTEX_COMMANDS 127 /* mask of op */
#define FUTEX_PRIVATE 128  /* flag of op */

enum futex_command {
	FUTEX_COMMAND_WAIT = 0,
	FUTEX_COMMAND_LOCK_PI = 6,
	FUTEX_COMMAND_WAIT_BITSET = 9,
	FUTEX_COMMAND_LOCK_PI2 = 13,
};

/* Whether the wait is for a signal (condition variable, semaphore, result), not for a lock. */
static inline int futex_is_condvar(__u64 op, __u8 value)
{
	if ((op & FUTEX_COMMANDS) == FUTEX_COMMAND_WAIT_BITSET)
		return value != 2 && value != 3;
	return op == FUTEX_COMMAND_WAIT && value == 255;
}

/* Whether the wait is certainly for a lock; op and value are 0 if unknown. */
static inline int futex_is_lock(__u64 op, __u8 value)
{
	__u64 command = op & FUTEX_COMMANDS;

	if (command == FUTEX_COMMAND_WAIT || command == FUTEX_COMMAND_WAIT_BITSET)
		return value == 2 || value == 3;
	return command == FUTEX_COMMAND_LOCK_PI || command == FUTEX_COMMAND_LOCK_PI2;
}

/* Whether only glibc's rwlocks have such waits. */
static inline int futex_is_rwlock(__u64 op, __u8 value)
{
	return (op & FUTEX_COMMANDS) == FUTEX_COMMAND_WAIT_BITSET && value == 3;
}

#endif
