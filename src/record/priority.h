/* SPDX-License-Identifier: Apache-2.0 */
/*
 * priority - let the recorder drain the rings in time on a saturated host.
 *
 * At normal priority, the recorder gets the CPU after everything that it records, and loses
 * records while it waits.  Its CPU time is small, so it runs with a real-time policy, which also
 * has precedence over other control groups.  It must not block the host in turn: if it needs more
 * than half of a CPU, it continues as a normal thread with a high weight until it needs less, and
 * a signal ends its real-time policy if it runs for too long without a pause.
 *
 * Threads and processes that it starts have the normal priority.
 */
#ifndef SONDE_RECORD_PRIORITY_H
#define SONDE_RECORD_PRIORITY_H

#include "base/base.h"

struct priority {
	bool allowed;   /* whether the thread may have a real-time policy */
	bool real_time; /* whether it has one */
	nsec_t checked; /* time of the last check */
	nsec_t used;    /* CPU time of the thread at that time */
};

/* Raise the priority of this thread, if possible.  Needs CAP_SYS_NICE, and keeps working without
 * it. */
void priority_raise(struct priority *p);

/* Call often; adapts the policy to the CPU time that the thread used. */
void priority_check(struct priority *p, nsec_t now);

#endif
