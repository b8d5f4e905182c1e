/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_process - what /proc contains of a process.
 *
 * A process that is gone has nothing, and can be gone at any time.  It can be hostile, so limits
 * bound the time that reading takes.
 */
#ifndef SONDE_RECORD_PROC_PROCESS_H
#define SONDE_RECORD_PROC_PROCESS_H

#include <dirent.h>

#include "base/base.h"

/* The next entry of /proc that is a process; 0 after the last. */
uint32_t proc_next_process(DIR *proc);

/* The real user id; false if the process is gone. */
bool proc_read_user(uint32_t pid, uint32_t *ret);

/* Call fn for the inode of each of the first `max` descriptors that is a socket. */
typedef void proc_socket_fn(void *arg, uint32_t pid, uint64_t inode);
void proc_each_socket(uint32_t pid, size_t max, proc_socket_fn *fn, void *arg);

/* Call fn for the TCP ports on which the process listens; it takes at most a few ms. */
typedef void proc_port_fn(void *arg, uint16_t port);
void proc_each_listening_port(uint32_t pid, proc_port_fn *fn, void *arg);

/*
 * Call fn for the children of a process, at most a few thousand; for none if the kernel was built
 * without CONFIG_PROC_CHILDREN.
 */
typedef void proc_child_fn(void *arg, uint32_t pid);
void proc_each_child(uint32_t pid, proc_child_fn *fn, void *arg);

#endif
