/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_queue - which requests were in the queue of a disk, from step to step.
 *
 * The model has requests in the order in which they completed, so that those under way at a time
 * may be anywhere behind it.  A path waits for a disk thousands of times, and to search that far
 * each time would take quadratic time.  So the requests are sorted by their start once, and the
 * queue moves along with the path: each request enters it once and leaves it once.
 */
#ifndef SONDE_ANALYSE_DISK_QUEUE_H
#define SONDE_ANALYSE_DISK_QUEUE_H

#include "base/vec.h"
#include "model/model.h"

struct disk_queue {
	const struct timeline *timeline;      /* of the model's requests, borrowed; may be NULL */
	VEC(const struct block_io *) started; /* by start */
	size_t next;                          /* of those, the first that did not enter the queue */
	VEC(const struct block_io *) current;
	nsec_t at; /* where the queue was moved to */
};

/* The requests that may have been under way between two times. */
void disk_queue_init(struct disk_queue *queue, const struct timeline *timeline, nsec_t from,
		     nsec_t to);
void disk_queue_done(struct disk_queue *queue);

/*
 * Make `current` hold all requests that were under way between two times.  It may hold some that
 * started later.  Cheap if `from` is not before that of the last call.
 */
void disk_queue_move(struct disk_queue *queue, nsec_t from, nsec_t to);

#endif
