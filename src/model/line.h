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
#ifndef SONDE_MODEL_LINE_H
#define SONDE_MODEL_LINE_H

#include "base/base.h"

struct line_chunk {
	void *items;
	uint32_t count, room;
};

struct line {
	struct line_chunk *chunks;
	uint32_t chunk_count, chunk_room;
	uint32_t item_size;
};

/* A place in a line; compares as one number. */
typedef struct {
	uint32_t chunk, item;
} line_pos;

void line_init(struct line *line, size_t item_size);
void line_done(struct line *line);

/* Room for one more item at the end, not initialised. */
void *line_push(struct line *line);

/* The last item, or NULL. */
void *line_last(const struct line *line);

/* The last item whose time is at most t; false if there is none. */
bool line_find(const struct line *line, nsec_t t, line_pos *ret);

/* The first item whose time is at least t; false if there is none. The line may be NULL. */
bool line_from(const struct line *line, nsec_t t, line_pos *ret);

/*
 * Run the body for each item whose time is in [from, to), `item` pointing at it; `break` ends the
 * loop.  The line may be NULL.
 */
#define LINE_EACH_BETWEEN(type, item, line, from, to) \
	for (line_pos pos_, *once_ = &pos_; once_; once_ = NULL) \
		for (const type *item = line_from(line, from, &pos_) ? line_at(line, pos_) : NULL; \
		     item && *(const nsec_t *)item < (to); \
		     item = line_next(line, &pos_) ? line_at(line, pos_) : NULL)

/* The item at a place; the place before and after it, false where the line ends. */
void *line_at(const struct line *line, line_pos pos);
bool line_first(const struct line *line, line_pos *ret);
bool line_prev(const struct line *line, line_pos *pos);
bool line_next(const struct line *line, line_pos *pos);

/* Give up what stands at a place, and behind it. */
void line_cut(struct line *line, line_pos from);

/* Give up chunks all of whose items, and the first one behind them, are not after t. */
void line_forget(struct line *line, nsec_t t);

size_t line_count(const struct line *line);
size_t line_memory(const struct line *line); /* bytes */

#endif
