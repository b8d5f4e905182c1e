/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_ring - the last blocks of a stream, to be saved as a capture.
 *
 * The ring drops whole epochs, the oldest first.  A record refers only to descriptions of its own
 * epoch or the one before it, so the ring keeps one epoch more than the time it has to cover, and
 * what it keeps is a complete recording of that time.
 *
 * A snapshot shares the blocks with the ring, so that another thread can write it while the ring
 * goes on.  Until it is freed, memory can be twice the limit.
 */
#ifndef SONDE_EVENT_BLOCK_RING_H
#define SONDE_EVENT_BLOCK_RING_H

#include "event/capture.h"

struct block_header;
struct block_ring;

/* Keeps the last `time` ns, if they need at most `limit` bytes; less otherwise. */
struct block_ring *block_ring_new(nsec_t time, size_t limit);
void block_ring_free(struct block_ring *ring);
DEFINE_FREEP(block_ring)

/* A stream_block_fn: copies a block of the stream.  Statistics are not kept. */
void block_ring_add(void *ring, const struct block_header *header, const void *payload);

/* A new stream starts, after the recorder was restarted: drop all blocks. */
void block_ring_clear(struct block_ring *ring);

struct block_ring_state {
	nsec_t from, to; /* the time that is completely described; both 0 if there is none */
	size_t bytes;
	bool limited; /* the limit has dropped blocks that the time needs */
};
struct block_ring_state block_ring_state(const struct block_ring *ring);

struct ring_snapshot;

/* The current content of the ring.  `meta` is that of the stream; it is copied. */
struct ring_snapshot *block_ring_snapshot(const struct block_ring *ring,
					  const struct capture_meta *meta);
void ring_snapshot_free(struct ring_snapshot *s);
DEFINE_FREEP(ring_snapshot)

/*
 * Write a complete capture to a descriptor, at its current position.  The name is for messages.
 * Can run in another thread, as can ring_snapshot_free().
 */
int ring_snapshot_write(const struct ring_snapshot *s, int fd, const char *name, struct err *err);

#endif
