/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wakeup_latency - how long threads waited for a CPU after they were woken.
 *
 * A wake-up is a wait for a CPU, or for the quota of a cgroup, that follows a blocked state; a
 * preempted thread was not woken.  What had the CPU meanwhile is known of the CPU that the thread
 * got in the end: one that it left by migration before is not in the trace.
 */
#ifndef SONDE_ANALYSE_WAKEUP_LATENCY_H
#define SONDE_ANALYSE_WAKEUP_LATENCY_H

#include "model/model.h"

/* All zero without a wake-up. */
struct wakeup_latency {
	uint64_t count;
	nsec_t total; /* sum of their latencies, ns */
	nsec_t max;
	/* the longest one */
	thread_id thread;
	nsec_t start, end;
	uint16_t cpu;
};

/* Adds the wake-ups of a thread after which it ran at a time in (from, to]; their part since from.
 */
void wakeup_latency_add(const struct model *model, thread_id thread, nsec_t from, nsec_t to,
			struct wakeup_latency *sum);

/* Adds one sum to another. */
void wakeup_latency_merge(struct wakeup_latency *sum, const struct wakeup_latency *other);

static inline nsec_t wakeup_latency_mean(const struct wakeup_latency *sum)
{
	return sum->count ? sum->total / sum->count : 0;
}

/*
 * The thread that had the CPU for the most time during the longest wake-up; none if it was idle,
 * or that is unknown.  Linear in the slices of that time.
 */
thread_id wakeup_latency_cpu_thread(const struct model *model, const struct wakeup_latency *sum);

#endif
