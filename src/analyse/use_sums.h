/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use_sums - what a thread did between two times, without a scan of all that time.
 *
 * Nested spans of one thread share its time, so counting each span's events from the thread's
 * timelines would take quadratic time.  So marks, a fixed number of items apart, have running sums.
 * What happened between two times is the difference of two sums, plus what is counted before the
 * first mark and after the last one.
 */
#ifndef SONDE_ANALYSE_USE_SUMS_H
#define SONDE_ANALYSE_USE_SUMS_H

#include "analyse/requests/sum.h"
#include "base/map.h"
#include "base/vec.h"

struct use_sums {
	thread_id thread;
	VEC(nsec_t) marks;
	VEC(uint64_t) keys; /* by column: a state, a system call or a probe type */
	struct map columns; /* key -> column + 1 */
	uint64_t *sums;     /* by mark and column: sum of all before the mark */
};

void use_sums_init(struct use_sums *sums, const struct model *model, thread_id thread);
void use_sums_done(struct use_sums *sums);

/*
 * Adds the states, system calls and probe events that request_use_work() adds for this time of
 * the thread; but not messages, durations of calls and unknown time.
 */
void use_sums_add(const struct use_sums *sums, const struct model *model, nsec_t from, nsec_t to,
		  struct request_use *use);

#endif
