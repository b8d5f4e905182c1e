/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline - items in time order, appended at the end.
 *
 * A model has many timelines: the intervals of each thread, the slices on each CPU,
 * messages, samples.  Some stay short, some get millions of items.  So a timeline is a list
 * of chunks, the first one small and each further one twice as large, up to a limit.  It
 * wastes little memory, never moves an item, and can drop old items: they become
 * invisible at once, and their memory is freed chunk by chunk.  Items are plain structs that
 * begin with their time.
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
	uint32_t forgotten; /* items at the start of the first chunk that are no longer valid */
};

/* Position in a timeline. */
typedef struct {
	uint32_t chunk, item;
} timeline_pos;

void timeline_init(struct timeline *timeline, size_t item_size);
void timeline_done(struct timeline *timeline);

/* Appends an uninitialised item. */
void *timeline_push(struct timeline *timeline);

/* The last item, or NULL. */
void *timeline_last(const struct timeline *timeline);

/* The last item with a time of at most t; false if there is none. */
bool timeline_find(const struct timeline *timeline, nsec_t t, timeline_pos *ret);

/* The first item with a time of at least t; false if there is none.  The timeline may be NULL. */
bool timeline_from(const struct timeline *timeline, nsec_t t, timeline_pos *ret);

/*
 * Loops over the items with a time in [from, to), with `item` as pointer; `break` ends the loop.
 * The timeline may be NULL.
 */
#define TIMELINE_EACH_BETWEEN(type, item, timeline, from, to) \
	for (timeline_pos pos_, *once_ = &pos_; once_; once_ = NULL) \
		for (const type *item = timeline_from(timeline, from, &pos_) \
						? timeline_at(timeline, pos_) \
						: NULL; \
		     item && *(const nsec_t *)item < (to); \
		     item = timeline_next(timeline, &pos_) ? timeline_at(timeline, pos_) : NULL)

/* The item at a position; the position before and after it, false at the ends. */
void *timeline_at(const struct timeline *timeline, timeline_pos pos);
bool timeline_first(const struct timeline *timeline, timeline_pos *ret);
bool timeline_prev(const struct timeline *timeline, timeline_pos *pos);
bool timeline_next(const struct timeline *timeline, timeline_pos *pos);

/* Drops the item at a position and all after it. */
void timeline_cut(struct timeline *timeline, timeline_pos from);

/* Drops the items before the last one with a time of at most t, which is valid until the next. */
void timeline_forget(struct timeline *timeline, nsec_t t);

/* Drops the items with a time before t. */
void timeline_forget_before(struct timeline *timeline, nsec_t t);

/* Drops the first item; there must be one. */
void timeline_forget_first(struct timeline *timeline);

size_t timeline_count(const struct timeline *timeline);
size_t timeline_memory(const struct timeline *timeline); /* bytes */

#endif
