/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sort items by time: a stable radix sort with digits of 16 bits, from the least
 * significant digit.  The number of passes depends on the length of the trace: two for
 * four seconds, three for three days.
 */
#include <string.h>

#include "report/export/internal.h"

enum { DIGIT_BITS = 16, DIGITS = 1 << DIGIT_BITS };

static uint16_t digit(const struct export_item *item, uint64_t first, int position)
{
	return position < 0 ? item->kind : (item->time - first) >> (position * DIGIT_BITS);
}

static void pass(const struct export_item *from, struct export_item *to, size_t count,
		 size_t *starts, uint64_t first, int position)
{
	size_t sum = 0;

	memset(starts, 0, DIGITS * sizeof(*starts));
	for (size_t i = 0; i < count; i++)
		starts[digit(&from[i], first, position)]++;
	for (size_t d = 0; d < DIGITS; d++) {
		size_t here = starts[d];

		starts[d] = sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++)
		to[starts[digit(&from[i], first, position)]++] = from[i];
}

void export_item_sort(struct export_item *items, size_t count)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < count; i++) {
		first = items[i].time < first ? items[i].time : first;
		last = items[i].time > last ? items[i].time : last;
	}
	if (count < 2)
		return;

	_cleanup_(freep) struct export_item *room = must_alloc(count * sizeof(*room));
	_cleanup_(freep) size_t *starts = must_alloc(DIGITS * sizeof(*starts));
	struct export_item *from = items, *to = room;

	for (int position = -1;
	     position < 0 || (position < 4 && (last - first) >> position * DIGIT_BITS);
	     position++) {
		pass(from, to, count, starts, first, position);

		struct export_item *sorted = to;

		to = from;
		from = sorted;
	}
	if (from != items)
		memcpy(items, from, count * sizeof(*items));
}
