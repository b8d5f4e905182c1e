/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_queue - requests that wait to be sent, in order.
 *
 * Requests at the head are merged into one export by concatenation: a concatenation of protobuf
 * messages is the message that has all their repeated fields, and the bytes of each span stay the
 * same.  They stay in the queue until the collector has answered.
 *
 * If the collector rejects a merged export, one of its requests is invalid, but which one is
 * unknown. export_queue_split() divides the requests into two groups that are no longer merged with
 * each other.  Repeated, this finds each invalid request in as many exports as the logarithm of
 * their number; sending all of them one by one would let a single invalid request per export slow
 * down everything behind it.
 *
 * The charge of a request is the memory that it takes, including overhead: small requests count.
 */
#ifndef SONDE_RELAY_EXPORT_QUEUE_H
#define SONDE_RELAY_EXPORT_QUEUE_H

#include "base/vec.h"
#include "otlp/protobuf.h"

struct queued_export {
	struct pb_buffer body;
	uint64_t items;
	nsec_t time;       /* CLOCK_MONOTONIC, when it was added */
	bool starts_group; /* never merged with the requests before it */
};

struct export_queue {
	VEC(struct queued_export) all;
	size_t first;  /* index of the head; those before it are gone */
	size_t charge; /* bytes of memory */
};

struct export_sum {
	uint64_t requests, items;
};

void export_queue_done(struct export_queue *queue);

static inline size_t export_queue_count(const struct export_queue *queue)
{
	return queue->all.count - queue->first;
}

/* The memory that a body takes in the queue. */
size_t export_queue_charge(const struct pb_buffer *body);

/* Takes the body. */
void export_queue_add(struct export_queue *queue, struct pb_buffer *body, uint64_t items,
		      nsec_t now);

/*
 * Appends as many requests to `out` as fit into `limit` bytes, at least one, and returns their
 * number.  The queue must not be empty.
 */
size_t export_queue_merge(const struct export_queue *queue, size_t limit, struct pb_buffer *out);

/* Divides the first `count` requests, at least 2, and separates them from the others. */
void export_queue_split(struct export_queue *queue, size_t count);

/* Drops requests from the head: a number of them, or those that are older than `time`. */
struct export_sum export_queue_drop(struct export_queue *queue, size_t count);
struct export_sum export_queue_expire(struct export_queue *queue, nsec_t time);

#endif
