/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope_quota - how many processes can bring themselves into scope.
 *
 * Any process can create an arena, so any user can start processes that are to be recorded.  Each
 * takes time of the recorder when it is examined, and memory while it is recorded.  So each user
 * has a rate of examinations and a number of processes; users do not take from each other.  Root,
 * which can do worse, has only the limit of the host.
 */
#ifndef SONDE_RECORD_SPANS_SCOPE_QUOTA_H
#define SONDE_RECORD_SPANS_SCOPE_QUOTA_H

#include "base/base.h"
#include "base/map.h"

enum {
	SCOPE_QUOTA_RATE = 16,    /* examinations per second and user */
	SCOPE_QUOTA_BURST = 64,   /* examinations at once */
	SCOPE_QUOTA_USER = 256,   /* processes of a user other than root */
	SCOPE_QUOTA_TOTAL = 4096, /* processes; the map of the BPF programs has space for more */
	SCOPE_QUOTA_USERS = 4096, /* users with examinations in the last seconds */
};

/* All zero is an empty one. */
struct scope_quota {
	struct map examined;  /* user -> when its examinations are paid for, ns */
	struct map counts;    /* user -> number of its processes */
	struct map processes; /* pid -> user that it counts for */
};

void scope_quota_done(struct scope_quota *q);

/* Whether a process of this user can be examined now, which counts. */
bool scope_quota_examine(struct scope_quota *q, uint32_t user, nsec_t now);

/* Whether a process can come into scope, which counts until scope_quota_leave(). */
bool scope_quota_enter(struct scope_quota *q, uint32_t pid, uint32_t user);

/* The process has ended; one that never entered is ignored. */
void scope_quota_leave(struct scope_quota *q, uint32_t pid);

/* Remove the processes that are gone without scope_quota_leave(), and idle users. */
void scope_quota_sweep(struct scope_quota *q, nsec_t now, bool (*is_gone)(void *arg, uint32_t pid),
		       void *arg);

#endif
