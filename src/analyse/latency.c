/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/latency.h"

#include <stdlib.h>

static int by_time(const void *a, const void *b)
{
	nsec_t x = *(const nsec_t *)a, y = *(const nsec_t *)b;

	return x < y ? -1 : x > y;
}

static void sort(latencies *times)
{
	if (times->count)
		qsort(times->items, times->count, sizeof(nsec_t), by_time);
}

static nsec_t at_rank(const latencies *times, unsigned int thousandths)
{
	size_t rank = (times->count * thousandths + 99999) / 100000;

	return times->count ? times->items[rank ? rank - 1 : 0] : 0;
}

nsec_t latency_at(latencies *times, unsigned int thousandths)
{
	sort(times);
	return at_rank(times, thousandths);
}

struct latency latency_of(latencies *times)
{
	sort(times);
	return (struct latency){ times->count, at_rank(times, 50000), at_rank(times, 95000),
				 at_rank(times, 99000) };
}
