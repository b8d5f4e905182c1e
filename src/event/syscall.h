/* SPDX-License-Identifier: Apache-2.0 */
/* syscall - the names of system calls. */
#ifndef SONDE_EVENT_SYSCALL_H
#define SONDE_EVENT_SYSCALL_H

/* NULL if there is no such call. */
const char *syscall_name(int nr);

/* The number of a call, or -1 if there is none of that name. */
int syscall_number(const char *name);

#endif
