/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The letters before the appearances of a pattern.
 *
 * If a letter precedes an appearance of P in each supporting row, within the gap, then the pattern
 * with that letter in front has the same support, and P is not closed.
 *
 * If a letter precedes *every* appearance of P, the same holds for each pattern that grows from P,
 * because its appearances begin as appearances of P do.  So the search does not descend.  It is not
 * enough that the letter precedes one appearance in each row: a longer pattern may have only
 * others. Nor does it help to count how often the letter precedes: in D-D-R and R, two letters D
 * precede the one R of the first sequence, and none that of the second.
 *
 * A letter precedes a position if the position is in the mask of what can follow the letter.  So
 * with the mask B of the positions at which appearances begin and the mask F of what can follow a
 * letter, the letter precedes every appearance if B is a subset of F, and one if they intersect.
 * In most nodes, no letter is left after a few rows, so B is computed row by row, and only then.
 */
#include "analyse/mine_search.h"

/* Letters that may precede all rows. */
struct candidates {
	uint8_t codes[256];
	bool is_every[256]; /* by index: precedes every appearance so far */
	uint32_t count;
};

/*
 * The positions at which appearances begin that end at any end of the deepest node: step back
 * through the nodes above, which have the ends of each prefix.
 */
static const uint64_t *find_begins(struct mine_search *search, const struct mine_entry *entry,
				   const struct mine_row *row)
{
	const struct mine_node *node = &search->nodes[search->depth - 1];
	uint64_t *begins = search->begins;
	struct mask_step step = search->table->step;

	memcpy(begins, node->ends + entry->at, row->words * sizeof(*begins));
	while (node-- > search->nodes) {
		entry = &node->entries[entry->parent];
		if (row->words == 1) {
			begins[0] = mask_next_before(begins[0], step) & node->ends[entry->at];
			continue;
		}
		mask_before(begins, row->words, step, begins);
		for (uint32_t i = 0; i < row->words; i++)
			begins[i] &= node->ends[entry->at + i];
	}
	return begins;
}

/* Positions that a letter precedes. */
static const uint64_t *find_followers(struct mine_search *search, const struct mine_row *row,
				      uint32_t code)
{
	const uint64_t *at = mine_occurrences(search->table, row, code);

	if (row->words == 1)
		search->window[0] = mask_next_after(at[0], search->table->step);
	else
		mask_after(at, row->words, search->table->step, search->window);
	return search->window;
}

static bool is_subset(const uint64_t *a, const uint64_t *b, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		if (a[i] & ~b[i])
			return false;
	return true;
}

static void narrow(struct mine_search *search, const struct mine_entry *entry,
		   struct candidates *candidates, bool wants_extendable)
{
	const struct mine_row *row = &search->table->rows[entry->row];
	const uint64_t *begins = find_begins(search, entry, row);
	uint32_t kept = 0;

	search->work += (uint64_t)row->words * (search->depth + candidates->count);
	for (uint32_t i = 0; i < candidates->count; i++) {
		const uint64_t *window = find_followers(search, row, candidates->codes[i]);
		bool is_every = candidates->is_every[i] && is_subset(begins, window, row->words);

		if (!is_every && !(wants_extendable && mask_intersects(begins, window, row->words)))
			continue;
		candidates->codes[kept] = candidates->codes[i];
		candidates->is_every[kept++] = is_every;
	}
	candidates->count = kept;
}

struct mine_before mine_look_before(struct mine_search *search, bool wants_extendable)
{
	const struct mine_node *node = &search->nodes[search->depth - 1];
	struct candidates candidates = { .count = search->table->letter_count };
	struct mine_before before = { 0 };

	for (uint32_t i = 0; i < candidates.count; i++) {
		candidates.codes[i] = (uint8_t)i;
		candidates.is_every[i] = true;
	}
	for (size_t i = 0; i < node->count && candidates.count; i++)
		narrow(search, &node->entries[i], &candidates, wants_extendable);
	before.is_extendable = candidates.count > 0;
	for (uint32_t i = 0; i < candidates.count; i++)
		before.is_pruned |= candidates.is_every[i];
	return before;
}
