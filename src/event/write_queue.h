/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_queue - a queue of blocks that a separate thread writes to a file.
 *
 * Even a buffered write can take seconds: the kernel throttles writers while too many pages are
 * dirty or while the file system's journal commits.  The recorder must not wait that long, or its
 * rings overflow.  So blocks are queued; the caller waits only beyond a limit.
 *
 * Blocks are written in order, each payload before its header.  After a write has failed, nothing
 * more is written.
 */
#ifndef SONDE_EVENT_WRITE_QUEUE_H
#define SONDE_EVENT_WRITE_QUEUE_H

#include "base/base.h"

/* Writes all of the data at an offset; 0 or a negative errno. */
typedef int write_fn(int fd, const void *data, size_t size, uint64_t at);

struct write_queue;

/* Returns NULL and sets errno if the thread cannot be started.  The descriptor is borrowed. */
struct write_queue *write_queue_new(int fd, size_t limit, uint64_t end, write_fn *write);

/* Discards blocks that have not been written. */
void write_queue_free(struct write_queue *q);
DEFINE_FREEP(write_queue)

/*
 * Queue a block, which consists of `header` bytes of header and a payload.  Takes ownership of it.
 * Waits while more bytes than the limit are queued.  Returns the error of an earlier write, if any.
 */
int write_queue_put(struct write_queue *q, void *block, size_t size, size_t header, uint64_t at);

/* Wait until all blocks are written.  Returns the error of a write, if any. */
int write_queue_flush(struct write_queue *q);

/* The offset after the last completely written block. */
uint64_t write_queue_end(struct write_queue *q);

#endif
