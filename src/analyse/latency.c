/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/latency.h"

#include "base/sort.h"

static bool is_shorter(const nsec_t *a, const nsec_t *b)
{
	return *a < *b;
}

static void sort(latencies *times)
{
	sort_items(times->items, times->count, is_shorter);
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
