/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/mine_mask.h"

#include <string.h>

/* Word i of a mask that is shifted to higher positions. */
static uint64_t word_up(const uint64_t *mask, uint64_t i, uint64_t distance)
{
	uint64_t skip = distance / 64, bits = distance % 64, word;

	if (skip > i)
		return 0;
	word = mask[i - skip] << bits;
	if (bits && i > skip)
		word |= mask[i - skip - 1] >> (64 - bits);
	return word;
}

static uint64_t word_down(const uint64_t *mask, uint64_t words, uint64_t i, uint64_t distance)
{
	uint64_t skip = distance / 64, bits = distance % 64, word;

	if (skip >= words - i)
		return 0;
	word = mask[i + skip] >> bits;
	if (bits && i + skip + 1 < words)
		word |= mask[i + skip + 1] << (64 - bits);
	return word;
}

/* The distance of the next shift, after which twice as many distances are covered, or all. */
static uint64_t next_shift(uint64_t covered, uint64_t more)
{
	return covered <= more + 1 - covered ? covered : more + 1 - covered;
}

/* Each word depends on itself and lower ones, so that the highest can be replaced first. */
void mask_after(const uint64_t *mask, uint32_t words, struct mask_step step, uint64_t *ret_mask)
{
	uint64_t bits = (uint64_t)words * 64, more = step.more < bits ? step.more : bits;

	for (uint32_t i = words; i-- > 0;)
		ret_mask[i] = word_up(mask, i, step.least);
	for (uint64_t covered = 1; covered <= more; covered *= 2)
		for (uint32_t i = words; i-- > 0;)
			ret_mask[i] |= word_up(ret_mask, i, next_shift(covered, more));
}

void mask_before(const uint64_t *mask, uint32_t words, struct mask_step step, uint64_t *ret_mask)
{
	uint64_t bits = (uint64_t)words * 64, more = step.more < bits ? step.more : bits;

	for (uint32_t i = 0; i < words; i++)
		ret_mask[i] = word_down(mask, words, i, step.least);
	for (uint64_t covered = 1; covered <= more; covered *= 2)
		for (uint32_t i = 0; i < words; i++)
			ret_mask[i] |= word_down(ret_mask, words, i, next_shift(covered, more));
}

uint32_t mask_first_from(const uint64_t *mask, uint32_t words, uint32_t from)
{
	for (uint32_t i = from / 64; i < words; i++) {
		uint64_t word = i == from / 64 ? mask[i] & UINT64_MAX << from % 64 : mask[i];

		if (word)
			return 64 * i + (uint32_t)__builtin_ctzll(word);
	}
	return 64 * words;
}
