/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_queue - blocks on their way into a file, written by a thread of their own.
 *
 * A write to a busy disk can take seconds, even though it only goes to the page cache: the kernel
 * makes writers wait while too much is dirty, or while the file system's journal commits.  Whoever
 * drains rings must not wait that long, as they would overflow.  So blocks are queued, up to a
 * limit; only beyond that, the caller waits.
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

/* NULL, with errno set, if there can be no thread.  The descriptor is borrowed. */
struct write_queue *write_queue_new(int fd, size_t limit, uint64_t end, write_fn *write);

/* Drops what has not been written yet. */
void write_queue_free(struct write_queue *q);
DEFINE_FREEP(write_queue)

/*
 * Takes over a block: `header` bytes of header, then its payload; it is freed.  Waits while more
 * than the limit is queued.  Returns the error of an earlier write, if there was one.
 */
int write_queue_put(struct write_queue *q, void *block, size_t size, size_t header, uint64_t at);

/* Waits until all is written; the error, if there was one. */
int write_queue_flush(struct write_queue *q);

/* Where the last block ends that is wholly in the file. */
uint64_t write_queue_end(struct write_queue *q);

#endif
