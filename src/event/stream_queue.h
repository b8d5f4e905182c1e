/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_queue - bytes for a pipe or socket that does not accept them yet.
 *
 * Bytes are queued only if the descriptor does not accept them at once.  Nothing here waits.
 */
#ifndef SONDE_EVENT_STREAM_QUEUE_H
#define SONDE_EVENT_STREAM_QUEUE_H

#include "base/vec.h"

struct stream_piece {
	unsigned char *data;
	size_t size;
};

struct stream_queue {
	int fd;         /* borrowed */
	bool is_socket; /* so that a write cannot wait or raise SIGPIPE */
	VEC(struct stream_piece) pieces;
	size_t first;  /* index of the first piece that is not completely written */
	size_t sent;   /* bytes of it that are written */
	size_t queued; /* bytes that are not written */
	bool was_long; /* since it was empty */
};

/* Enlarges the buffer of the pipe or socket, too. */
void stream_queue_init(struct stream_queue *q, int fd);
void stream_queue_done(struct stream_queue *q);

/* Write or queue a header and a payload.  Returns 0 or a negative errno. */
int stream_queue_put(struct stream_queue *q, const void *header, size_t header_size,
		     const void *payload, size_t payload_size);

/* Write as much as the descriptor accepts.  Returns 0 or a negative errno. */
int stream_queue_write(struct stream_queue *q);

#endif
