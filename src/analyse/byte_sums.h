/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_sums - the bytes that a thread transferred between two times, without a scan of that time.
 *
 * Many spans can share the time of a thread, so running sums are made once for each thread.
 */
#ifndef SONDE_ANALYSE_BYTE_SUMS_H
#define SONDE_ANALYSE_BYTE_SUMS_H

#include "base/map.h"
#include "base/vec.h"
#include "model/model.h"

/* At this time, and the sum up to then. */
struct byte_sum {
	nsec_t time;
	uint64_t bytes;
};

typedef VEC(struct byte_sum) byte_sum_list; /* by time */

struct thread_bytes {
	byte_sum_list sent, received, disk;
};

/* All zero at first. */
struct byte_sums {
	VEC(struct thread_bytes) threads;
	struct map index; /* thread -> index + 1 */
};

void byte_sums_done(struct byte_sums *sums);

/*
 * Adds bytes over sockets and of block I/O.  The time of a message is its end, so one that was sent
 * at `to` or received at `from` counts.
 */
void byte_sums_add(struct byte_sums *sums, const struct model *model, thread_id thread, nsec_t from,
		   nsec_t to, uint64_t *network, uint64_t *disk);

#endif
