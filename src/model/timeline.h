/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line - things in the order of their time, many at the end, none in between.
 *
 * A model has many lines: the intervals of each thread, the turns on each CPU,
 * messages, samples.  Some stay short, some get millions of items.  So a line
 * is a list of chunks, the first small and each next twice as large up to a
 * limit: little is wasted, nothing is moved, and what is old can be given up
 * chunk by chunk.  Items are plain structs that begin with their time.
 */
#ifndef SONDE_MODEL_TIMELINE_H
#define SONDE_MODEL_TIMELINE_H

#include "base/base.h"

struct timeline_chunk {
	void *items;
	uint32_t count, room;
};

struct timeline {
	struct timeline_chunk *chunks;
	uint32_t chunk_count, chunk_room;
	uint32_t item_size;
};

/* A place in a line; compares as one number. */
typedef struct {
	uint32_t chunk, item;
} timeline_pos;

void timeline_init(struct timeline *timeline, size_t item_size);
void timeline_done(struct timeline *timeline);

/* Room for one more item at the end, not initialised. */
void *timeline_push(struct timeline *timeline);

/* The last item, or NULL. */
void *timeline_last(const struct timeline *timeline);

/* The last item whose time is at most t; false if there is none. */
bool timeline_find(const struct timeline *timeline, nsec_t t, timeline_pos *ret);

/* The first item whose time is at least t; false if there is none. The line may be NULL. */
bool timeline_from(const struct timeline *timeline, nsec_t t, timeline_pos *ret);

/*
 * Run the body for each item whose time is in [from, to), `item` pointing at it; `break` ends the
 * loop.  The line may be NULL.
 */
#define TIMELINE_EACH_BETWEEN(type, item, timeline, from, to) \
	for (timeline_pos pos_, *once_ = &pos_; once_; once_ = NULL) \
		for (const type *item = timeline_from(timeline, from, &pos_) \
						? timeline_at(timeline, pos_) \
						: NULL; \
		     item && *(const nsec_t *)item < (to); \
		     item = timeline_next(timeline, &pos_) ? timeline_at(timeline, pos_) : NULL)

/* The item at a place; the place before and after it, false where the line ends. */
void *timeline_at(const struct timeline *timeline, timeline_pos pos);
bool timeline_first(const struct timeline *timeline, timeline_pos *ret);
bool timeline_prev(const struct timeline *timeline, timeline_pos *pos);
bool timeline_next(const struct timeline *timeline, timeline_pos *pos);

/* Give up what stands at a place, and behind it. */
void timeline_cut(struct timeline *timeline, timeline_pos from);

/* Give up chunks all of whose items, and the first one behind them, are not after t. */
void timeline_forget(struct timeline *timeline, nsec_t t);

size_t timeline_count(const struct timeline *timeline);
size_t timeline_memory(const struct timeline *timeline); /* bytes */

#endif
