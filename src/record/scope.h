/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope - which processes are to be recorded, of those that exist already.
 *
 * Processes are named by pid (with all their descendants), by a port they
 * listen on, or by control group.  Those that start later are the kernel
 * programs' business.
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

/* A process and its descendants; it must exist. */
int scope_add_pid(struct scope *scope, uint32_t pid, struct err *err);

/* Add what processes in scope have started since; whether there was anything. */
bool scope_add_descendants(struct scope *scope);

/* Whoever listens on a TCP port of our network namespace; 1, or 0 if nobody does so far. */
int scope_add_port(struct scope *scope, uint16_t port, struct err *err);

/* All processes of a control group and those below it. The path is one of cgroupfs. */
int scope_add_cgroup(struct scope *scope, const char *path, struct err *err);

/* Whether a process is gone, or about to be: true before the kernel programs learn of it. */
bool scope_is_exiting(uint32_t pid);

/* Find the ports of the connections that the processes in scope have. */
void scope_find_ports(struct scope *scope);

#endif
