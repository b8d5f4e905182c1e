/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_queue - the block I/O in flight on a disk, from step to step of a path.
 *
 * The model has block I/O in the order of completion, so I/O in flight at a time can be anywhere
 * after it.  A path can wait for a disk thousands of times, and a search for each wait would take
 * quadratic time.  So the I/O is sorted by start once, and the queue moves along with the path:
 * each item enters it once and leaves it once.
 */
#ifndef SONDE_ANALYSE_DISK_QUEUE_H
#define SONDE_ANALYSE_DISK_QUEUE_H

#include "base/vec.h"
#include "model/model.h"

struct disk_queue {
	const struct timeline *timeline;      /* block I/O in the model, borrowed; may be NULL */
	VEC(const struct block_io *) started; /* by start */
	size_t next;                          /* index of the first that is not in the queue yet */
	VEC(const struct block_io *) current;
	nsec_t at; /* `from` of the last disk_queue_move() */
};

/* Collects the I/O that can be in flight between two times. */
void disk_queue_init(struct disk_queue *queue, const struct timeline *timeline, nsec_t from,
		     nsec_t to);
void disk_queue_done(struct disk_queue *queue);

/*
 * Fills `current` with all I/O in flight between two times; it can also contain I/O that started
 * later.  Fast if `from` is not before that of the last call.
 */
void disk_queue_move(struct disk_queue *queue, nsec_t from, nsec_t to);

#endif
