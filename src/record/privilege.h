/* SPDX-License-Identifier: Apache-2.0 */
/*
 * privilege - check the privileges for recording, and drop them.
 *
 * Recording needs CAP_BPF and CAP_PERFMON until everything is attached.  After that it needs only
 * the capabilities to read other processes, for stacks and spans, and to update BPF maps.  As the
 * recorder then parses data written by other processes, it does not stay root.
 */
#ifndef SONDE_RECORD_PRIVILEGE_H
#define SONDE_RECORD_PRIVILEGE_H

#include <linux/capability.h>

#include "base/base.h"
#include "base/err.h"
#include "base/caps.h"

/* The file capabilities that recording needs. */
#define PRIVILEGE_CAPS \
	(CAP_BIT(CAP_BPF) | CAP_BIT(CAP_PERFMON) | CAP_BIT(CAP_DAC_READ_SEARCH) | \
	 CAP_BIT(CAP_SYS_PTRACE) | CAP_BIT(CAP_CHECKPOINT_RESTORE) | CAP_BIT(CAP_SYSLOG) | \
	 CAP_BIT(CAP_SYS_NICE))

bool privilege_has(int capability);

/* Fails with instructions if this process lacks the privileges to record. */
int privilege_check(struct err *err);

enum {
	PRIVILEGE_PROCESSES = 1, /* read other processes, for stacks and spans */
	PRIVILEGE_BPF = 2,       /* update maps, and run iterators when processes join the scope */
	PRIVILEGE_ATTACH = 4,    /* attach loaded BPF programs */
};

/*
 * Irrevocably drop all privileges except those for the given purposes.  Root becomes an unused user
 * id, and keeps the capability to signal `command` (0: none).  System calls are restricted
 * (confine.h), except for messages over the socket `stream` (-1: none).  Returns 1, with a warning
 * in err, if the user id cannot be changed.
 */
int privilege_drop(unsigned int keep_for, pid_t command, int stream, struct err *err);

/*
 * Irrevocably drop all privileges of a process that reads and analyses: no capabilities, an unused
 * user id instead of root, and no system calls that execute programs, trace processes or use the
 * network.  Files that it writes later need a directory that `uid` and `gid` can write to; uid 0
 * means an unused user id.  Returns 1, with a warning in err, if the user id cannot be changed.
 */
int privilege_drop_reader(uid_t uid, gid_t gid, struct err *err);

/*
 * The same for a process that relays data between the network and others: it may use the network,
 * and start processes that are restricted in the same way.
 */
int privilege_drop_relay(struct err *err);

/*
 * Irrevocably drop what starting recorders does not need: the keeper (keeper.h) stays root, but can
 * neither execute programs nor use the network.  Recorders that attach to tracepoints by name
 * (`events`) mount tracefs, which needs CAP_SYS_ADMIN.
 */
int privilege_limit_keeper(bool events, struct err *err);

#endif
