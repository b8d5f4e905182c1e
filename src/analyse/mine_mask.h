/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mine_mask - positions of a sequence as a bit mask, and steps over a gap.
 *
 * Bit i is the position i.  The mask of a sequence has one word for each 64 letters.  The positions
 * that can follow or precede any position of a mask are the union of the mask shifted by each
 * distance that the gap allows.  It takes a number of shifts logarithmic in the width of the gap,
 * as each shift doubles the distances covered.
 *
 * Most sequences have at most 64 letters, so the functions for one word are inline.
 */
#ifndef SONDE_ANALYSE_MINE_MASK_H
#define SONDE_ANALYSE_MINE_MASK_H

#include "analyse/mine.h"

/* Distances between consecutive letters of a pattern: from `least` to `least + more`. */
struct mask_step {
	uint64_t least, more;
};

/* A gap that allows nothing becomes a step that is longer than any sequence. */
static inline struct mask_step mask_step_of(const struct mine_gap *gap)
{
	if (gap->least > gap->most)
		return (struct mask_step){ UINT64_MAX, 0 };
	return (struct mask_step){ (uint64_t)gap->least + 1, gap->most - gap->least };
}

static inline uint32_t mask_words(uint32_t length)
{
	return length / 64 + (length % 64 != 0);
}

static inline uint64_t mask_next_after(uint64_t mask, struct mask_step step)
{
	if (step.least > 63)
		return 0;
	mask <<= step.least;
	if (step.more == 2) /* the default, without a loop */
		return mask | mask << 1 | mask << 2;
	for (uint64_t covered = 1, more = step.more < 63 ? step.more : 63; covered <= more;
	     covered *= 2)
		mask |= mask << (covered <= more + 1 - covered ? covered : more + 1 - covered);
	return mask;
}

static inline uint64_t mask_next_before(uint64_t mask, struct mask_step step)
{
	if (step.least > 63)
		return 0;
	mask >>= step.least;
	if (step.more == 2) /* the default, without a loop */
		return mask | mask >> 1 | mask >> 2;
	for (uint64_t covered = 1, more = step.more < 63 ? step.more : 63; covered <= more;
	     covered *= 2)
		mask |= mask >> (covered <= more + 1 - covered ? covered : more + 1 - covered);
	return mask;
}

/* The positions that can follow or precede those of a mask; ret_mask can be the mask itself. */
void mask_after(const uint64_t *mask, uint32_t words, struct mask_step step, uint64_t *ret_mask);
void mask_before(const uint64_t *mask, uint32_t words, struct mask_step step, uint64_t *ret_mask);

/* Whether a position is in both masks. */
static inline bool mask_intersects(const uint64_t *a, const uint64_t *b, uint32_t words)
{
	for (uint32_t i = 0; i < words; i++)
		if (a[i] & b[i])
			return true;
	return false;
}

/* The first position from an index on; 64 * words if there is none. */
uint32_t mask_first_from(const uint64_t *mask, uint32_t words, uint32_t from);

#endif
