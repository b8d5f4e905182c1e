/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items by time: a radix sort, from the last digit to the first, with 16 bits to
 * a digit.  It keeps what is equal in order, and takes as many passes as the
 * length of the trace has digits: two for four seconds, three for three days.
 */
#include <string.h>

#include "report/export/ctf_internal.h"

enum { DIGIT_BITS = 16, DIGITS = 1 << DIGIT_BITS };

static uint16_t digit(const struct item *item, uint64_t first, int place)
{
	return place < 0 ? item->kind : (item->time - first) >> (place * DIGIT_BITS);
}

static void pass(const struct item *from, struct item *to, size_t count, size_t *starts,
		 uint64_t first, int place)
{
	size_t sum = 0;

	memset(starts, 0, DIGITS * sizeof(*starts));
	for (size_t i = 0; i < count; i++)
		starts[digit(&from[i], first, place)]++;
	for (size_t d = 0; d < DIGITS; d++) {
		size_t here = starts[d];

		starts[d] = sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++)
		to[starts[digit(&from[i], first, place)]++] = from[i];
}

void item_sort(struct item *items, size_t count)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < count; i++) {
		first = items[i].time < first ? items[i].time : first;
		last = items[i].time > last ? items[i].time : last;
	}
	if (count < 2)
		return;

	_cleanup_(freep) struct item *room = must_alloc(count * sizeof(*room));
	_cleanup_(freep) size_t *starts = must_alloc(DIGITS * sizeof(*starts));
	struct item *from = items, *to = room;

	for (int place = -1; place < 0 || (place < 4 && (last - first) >> place * DIGIT_BITS);
	     place++) {
		pass(from, to, count, starts, first, place);

		struct item *sorted = to;

		to = from;
		from = sorted;
	}
	if (from != items)
		memcpy(items, from, count * sizeof(*items));
}
