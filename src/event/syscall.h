/* SPDX-License-Identifier: Apache-2.0 */
/* syscall - the names of system calls. */
#ifndef SONDE_EVENT_SYSCALL_H
#define SONDE_EVENT_SYSCALL_H

/* The name of a system call; NULL if there is none with this number. */
const char *syscall_name(int nr);

/* The number of a system call; -1 if there is none with this name. */
int syscall_number(const char *name);

#endif
