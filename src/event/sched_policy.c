/* SPDX-License-Identifier: Apache-2.0 */
#include "event/sched_policy.h"

#include <linux/sched.h>
#include <stdio.h>

/* Also in kernels newer than these headers. */
enum { POLICY_EXT = 7 };

struct sched_priority_text sched_priority_text(uint8_t policy, int8_t priority)
{
	struct sched_priority_text text = { "" };
	char *s = text.s;
	size_t size = sizeof(text.s);

	switch (policy - 1) {
	case -1:
		break;
	case SCHED_NORMAL:
		snprintf(s, size, "nice %d", priority);
		break;
	case SCHED_FIFO:
		snprintf(s, size, "SCHED_FIFO %d", priority);
		break;
	case SCHED_RR:
		snprintf(s, size, "SCHED_RR %d", priority);
		break;
	case SCHED_BATCH:
		snprintf(s, size, "SCHED_BATCH, nice %d", priority);
		break;
	case SCHED_IDLE:
		snprintf(s, size, "SCHED_IDLE");
		break;
	case SCHED_DEADLINE:
		snprintf(s, size, "SCHED_DEADLINE");
		break;
	case POLICY_EXT:
		snprintf(s, size, "SCHED_EXT, nice %d", priority);
		break;
	default:
		snprintf(s, size, "policy %d", policy - 1);
		break;
	}
	return text;
}
