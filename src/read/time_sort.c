/* SPDX-License-Identifier: Apache-2.0 */
#include "read/time_sort.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS }; /* the counts of a digit fit the L1 cache */

/* A stable counting sort by the digit of (time - first) at this bit. */
static void sort_by_digit(const struct time_sort_item *from, struct time_sort_item *to,
			  size_t count, nsec_t first, unsigned shift)
{
	size_t offset[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < count; i++)
		offset[(from[i].time - first) >> shift & (DIGITS - 1)]++;
	for (size_t d = 0; d < DIGITS; d++) {
		size_t n = offset[d];

		offset[d] = sum;
		sum += n;
	}
	for (size_t i = 0; i < count; i++)
		to[offset[(from[i].time - first) >> shift & (DIGITS - 1)]++] = from[i];
}

struct time_sort_item *time_sort(struct time_sort_item *items, size_t count)
{
	struct time_sort_item *other = must_realloc(NULL, (count + 1) * sizeof(*other));
	nsec_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < count; i++) {
		first = items[i].time < first ? items[i].time : first;
		last = items[i].time > last ? items[i].time : last;
	}
	for (unsigned shift = 0; count && shift < 64 && (last - first) >> shift;
	     shift += DIGIT_BITS) {
		struct time_sort_item *sorted = other;

		sort_by_digit(items, sorted, count, first, shift);
		other = items;
		items = sorted;
	}
	free(other);
	return items;
}
