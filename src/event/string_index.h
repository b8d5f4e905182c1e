/* SPDX-License-Identifier: Apache-2.0 */
/*
 * string_index - the strings of a capture by their ids, for its readers.
 *
 * Ids grow from block to block, modulo 2^32, and can have gaps.  So strings are in the order of
 * their ids, counted from the first one, and a range begins after each gap.
 */
#ifndef SONDE_EVENT_STRING_INDEX_H
#define SONDE_EVENT_STRING_INDEX_H

#include "base/vec.h"

/* Strings with consecutive ids, up to the next range. */
struct string_range {
	uint32_t offset; /* id of the first string, minus the base */
	size_t first;    /* its index */
};

struct string_index {
	uint32_t base;             /* id of the first string, or the next one while it is empty */
	uint64_t next;             /* next id, minus the base */
	VEC(const char *) strings; /* borrowed */
	VEC(struct string_range) ranges;
};

/* `next` is the id of the first string, unless the first block contains another one. */
void string_index_init(struct string_index *index, uint32_t next);
void string_index_done(struct string_index *index);

/*
 * Add the strings of a block, `size` bytes, which the index borrows.  `first` and `count` are from
 * the block header.  Returns NULL, or what is wrong.
 */
const char *string_index_add(struct string_index *index, const char *s, size_t size, uint64_t first,
			     uint32_t count);

/* NULL if unknown. */
const char *string_index_find(const struct string_index *index, uint32_t id);

/* The id after the last string. */
static inline uint32_t string_index_next(const struct string_index *index)
{
	uint32_t id = index->base + (uint32_t)index->next;

	return id ?: 1; /* 0 is the empty string */
}

#endif
