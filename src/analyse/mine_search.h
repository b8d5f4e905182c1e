/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mine_search - the patterns that begin with one letter, depth first.
 *
 * A node of the search is a pattern.  Its children have one more letter at the end.  For each
 * supporting sequence, a node has the mask of the positions at which an appearance ends; all
 * appearances are kept, as a later one may be the only one that can grow.
 */
#ifndef SONDE_ANALYSE_MINE_SEARCH_H
#define SONDE_ANALYSE_MINE_SEARCH_H

#include "analyse/mine_mask.h"
#include "base/vec.h"

/* One sequence of the table. */
struct mine_row {
	uint64_t weight;
	uint32_t at; /* of its mask in the masks of a letter */
	uint32_t words;
};

/* The sequences as masks: one for each frequent letter. */
struct mine_table {
	struct mine_row *rows;
	uint32_t row_count;
	uint32_t letter_count; /* frequent letters */
	uint8_t letters[256];  /* by code, in order */
	size_t words;          /* of all masks of a letter */
	uint64_t *occurrences; /* masks of all rows, by letter: a step reads those of one letter */
	uint64_t (*keys)[2];   /* random, by row, to compare sets of rows; NULL if not needed */
	uint64_t minimum;      /* support */
	struct mask_step step;
	uint32_t most_words; /* of a row */
};

/* Positions of a letter in a row. */
static inline const uint64_t *mine_occurrences(const struct mine_table *table,
					       const struct mine_row *row, uint32_t code)
{
	return table->occurrences + code * table->words + row->at;
}

struct mine_found {
	uint8_t *letters;
	uint32_t length;
	uint64_t support;
	uint64_t set[2]; /* fingerprint of the supporting rows: the sum of their keys */
};

/* A vector (base/vec.h). */
struct mine_list {
	struct mine_found *items;
	size_t count, room;
};

/* A supporting row of a node. */
struct mine_entry {
	uint32_t row;
	uint32_t parent; /* entry of the same row in the node above */
	uint32_t at;     /* of the mask of ends, in `ends` of the node */
};

struct mine_node {
	struct mine_entry *entries;
	uint64_t *ends;
	size_t count, words;           /* used */
	size_t entry_room, words_room; /* allocated */
	uint64_t support;              /* by weight */
	uint8_t code;                  /* of its last letter */
	uint8_t children[256];         /* codes, in the order of the search */
	uint32_t child_count, next_child;
};

struct mine_search {
	const struct mine_table *table; /* borrowed */
	struct arena *arena;            /* of letters found; borrowed */
	struct mine_node nodes[MINE_LONGEST];
	uint32_t depth;
	uint64_t work;                     /* mask words examined */
	size_t memory;                     /* bytes of all nodes */
	const struct mine_options *bounds; /* borrowed */
	uint64_t *begins, *window;         /* scratch masks of a row */
	struct mine_list *found;           /* borrowed */
	bool is_truncated;
};

/*
 * Appends all patterns that begin with a letter and are closed at their ends.  Takes the bounds
 * from the options; max_work is that of one letter.  Returns whether the search was complete.
 */
bool mine_search_letter(const struct mine_table *table, const struct mine_options *bounds,
			uint32_t code, struct arena *arena, struct mine_list *found);

/* What precedes the appearances of the deepest node. */
struct mine_before {
	bool is_pruned;     /* a letter precedes every appearance: no descendant is closed */
	bool is_extendable; /* a letter precedes an appearance in each row; only if asked for */
};

struct mine_before mine_look_before(struct mine_search *search, bool wants_extendable);

#endif
