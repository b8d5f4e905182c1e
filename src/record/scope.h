/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope - the running processes to record.
 *
 * Processes are selected by pid (with all descendants), by a TCP port they listen
 * on, or by cgroup.  The BPF programs add processes that start later.
 */
#ifndef SONDE_RECORD_SCOPE_H
#define SONDE_RECORD_SCOPE_H

#include "base/base.h"
#include "base/err.h"
#include "base/map.h"

struct scope {
	struct map pids;  /* processes in scope */
	struct map ports; /* local TCP ports of their connections */
	uint64_t cgroup;  /* id, or 0 */
	int cgroup_hierarchy;
};

void scope_done(struct scope *scope);

/* Add a process, which must exist, and its descendants. */
int scope_add_pid(struct scope *scope, uint32_t pid, struct err *err);

/* Add descendants forked since the last call; returns whether there were any. */
bool scope_add_descendants(struct scope *scope);

/* Add the processes that listen on a TCP port in our network namespace; 0 if there are none. */
int scope_add_port(struct scope *scope, uint16_t port, struct err *err);

/* Add all processes of a cgroup and its descendants.  The path is one of cgroupfs. */
int scope_add_cgroup(struct scope *scope, const char *path, struct err *err);

/* Whether a process has exited or is exiting: true before the BPF programs see its exit. */
bool scope_is_exiting(uint32_t pid);

/* Find the local ports of the TCP connections of processes in scope. */
void scope_find_ports(struct scope *scope);

#endif
