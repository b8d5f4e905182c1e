/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The leftmost appearance of a pattern.
 *
 * From the last letter of the pattern to the first, compute the positions from which the rest of
 * the pattern can be completed.  Then the first such position of each letter that follows the
 * position before is right: whatever is chosen can be completed.
 */
#include <string.h>

#include "analyse/mine_mask.h"

enum { SMALL = 1024 }; /* words; larger tables are on the heap */

/* Gives each letter of the pattern a number; the others have 0.  Returns the count, with 0. */
static uint32_t number_letters(const uint8_t *pattern, uint32_t length, uint16_t *ret_numbers)
{
	uint16_t count = 1;

	memset(ret_numbers, 0, 256 * sizeof(*ret_numbers));
	for (uint32_t i = 0; i < length; i++)
		if (!ret_numbers[pattern[i]])
			ret_numbers[pattern[i]] = count++;
	return count;
}

/* Row i of the result has the positions from which pattern[i] and all after it can be found. */
static bool complete(uint64_t *rows, const uint64_t *occurrences, const uint16_t *numbers,
		     const uint8_t *pattern, uint32_t count, uint32_t words, struct mask_step step)
{
	for (uint32_t i = count; i-- > 0;) {
		const uint64_t *at = occurrences + (size_t)numbers[pattern[i]] * words;
		uint64_t *row = rows + (size_t)i * words, any = 0;

		if (i + 1 < count)
			mask_before(row + words, words, step, row);
		for (uint32_t k = 0; k < words; k++) {
			row[k] = i + 1 < count ? row[k] & at[k] : at[k];
			any |= row[k];
		}
		if (!any)
			return false;
	}
	return true;
}

bool mine_find(const uint8_t *letters, uint32_t length, const uint8_t *pattern,
	       uint32_t pattern_length, const struct mine_gap *gap, uint32_t *ret_positions)
{
	if (pattern_length > length)
		return false;

	uint32_t words = mask_words(length);
	uint16_t numbers[256];
	uint32_t distinct = number_letters(pattern, pattern_length, numbers);
	size_t size = (size_t)words * (distinct + (size_t)pattern_length);
	uint64_t small[SMALL];
	_cleanup_(freep) uint64_t *large = NULL;
	uint64_t *table = size <= SMALL ? small : (large = must_alloc(size * sizeof(*large)));
	uint64_t *rows = table + (size_t)distinct * words;

	memset(table, 0, (size_t)distinct * words * sizeof(*table));
	for (uint32_t i = 0; i < length; i++)
		table[(size_t)numbers[letters[i]] * words + i / 64] |= 1ull << i % 64;
	if (!complete(rows, table, numbers, pattern, pattern_length, words, mask_step_of(gap)))
		return false;
	for (uint32_t i = 0; i < pattern_length; i++)
		ret_positions[i] = mask_first_from(rows + (size_t)i * words, words,
						   i ? ret_positions[i - 1] + 1 + gap->least : 0);
	return true;
}
