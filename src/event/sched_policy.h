/* SPDX-License-Identifier: Apache-2.0 */
/* sched_policy - the scheduling policy and priority of a thread, as chrt(1) and nice(1) name them.
 */
#ifndef SONDE_EVENT_SCHED_POLICY_H
#define SONDE_EVENT_SCHED_POLICY_H

#include "base/base.h"

struct sched_priority_text {
	char s[32];
};

/*
 * Of struct record_task: "nice -5", "SCHED_FIFO 50", "SCHED_BATCH, nice 3", "SCHED_IDLE"; "" if
 * unknown.
 */
struct sched_priority_text sched_priority_text(uint8_t policy, int8_t priority);

#endif
