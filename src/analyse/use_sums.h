/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use_sums - what a thread did in any time, without going through all of that time.
 *
 * Nested spans of one thread share its time: to count what happened in each of them from the
 * thread's timelines takes quadratic time.  So at marks, a fixed number of items apart, the sums
 * up to there are kept.  What happened between two times is what happened before the first mark
 * between them and after the last one, which is counted, and the difference of two sums.
 */
#ifndef SONDE_ANALYSE_USE_SUMS_H
#define SONDE_ANALYSE_USE_SUMS_H

#include "analyse/requests/sum.h"
#include "base/map.h"
#include "base/vec.h"

struct use_sums {
	thread_id thread;
	VEC(nsec_t) marks;
	VEC(uint64_t) keys; /* what is summed, by column: a state, a system call or an event */
	struct map columns; /* the same -> column + 1 */
	uint64_t *sums;     /* by mark and column, of all before the mark */
};

void use_sums_init(struct use_sums *sums, const struct model *model, thread_id thread);
void use_sums_done(struct use_sums *sums);

/*
 * The states, calls and hits of request_use_work() for a slice of the thread; but not its
 * messages, how long calls took, or for how long nothing is known.
 */
void use_sums_add(const struct use_sums *sums, const struct model *model, nsec_t from, nsec_t to,
		  struct request_use *use);

#endif
