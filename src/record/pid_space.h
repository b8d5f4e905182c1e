/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pid_space - threads that are known by their numbers in another pid namespace.
 *
 * A process in a container says that it is number 7.  The kernel translates,
 * through the namespace of any process that is in it, since Linux 6.11; before
 * that, the threads of that process tell their numbers in /proc.
 */
#ifndef SONDE_RECORD_PID_SPACE_H
#define SONDE_RECORD_PID_SPACE_H

#include "base/base.h"

/* The number of the namespace that a process is in, and of ours; 0 if it cannot be read. */
uint32_t pid_space_of(uint32_t pid);
uint32_t pid_space_own(void);

/*
 * Our number of the thread that is `tid` in the namespace of the process `pid`
 * (our number); 0 if there is none, or it cannot be found out.
 */
uint32_t pid_space_translate(uint32_t pid, uint32_t tid);

#endif
