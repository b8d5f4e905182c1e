/* SPDX-License-Identifier: Apache-2.0 */
#include "top/seconds.h"

#include <string.h>

void seconds_done(struct seconds *s)
{
	for (size_t i = 0; i < SECONDS_EXACT; i++)
		vec_done(&s->times[i]);
}

/* Sorts a second's latencies, for all percentiles. */
static void close_second(struct seconds *s, uint64_t second)
{
	s->p95[second % TOP_SECONDS] = latency_of(&s->times[second % SECONDS_EXACT]).p95;
}

void seconds_advance(struct seconds *s, uint64_t second)
{
	if (second <= s->second)
		return;
	close_second(s, s->second);
	if (second - s->second > TOP_SECONDS)
		s->second = second - TOP_SECONDS;
	while (s->second < second) {
		s->second++;
		if (second - s->second < SECONDS_EXACT) {
			s->times[s->second % SECONDS_EXACT].count = 0;
			s->totals[s->second % SECONDS_EXACT] = 0;
		}
		s->p95[s->second % TOP_SECONDS] = 0;
	}
}

void seconds_add(struct seconds *s, nsec_t latency)
{
	size_t at = s->second % SECONDS_EXACT;

	*vec_push(&s->times[at]) = latency;
	s->totals[at] += latency;
}

void seconds_merge(struct seconds *s, const struct seconds *other)
{
	for (size_t i = 0; i < SECONDS_EXACT; i++) {
		for (size_t k = 0; k < other->times[i].count; k++)
			*vec_push(&s->times[i]) = other->times[i].items[k];
		s->totals[i] += other->totals[i];
	}
}

nsec_t seconds_total(const struct seconds *s)
{
	nsec_t total = 0;

	for (size_t i = 0; i < SECONDS_EXACT; i++)
		total += s->totals[i];
	return total;
}

/* The requests in flight that count: those older than most of the ended ones. */
static size_t skip_young(const nsec_t *ages, size_t count, nsec_t p95)
{
	size_t first = 0;

	while (first < count && ages[first] <= p95)
		first++;
	return first;
}

struct seconds_sum seconds_sum(struct seconds *s, const nsec_t *ages, size_t age_count)
{
	latencies all = { 0 };
	struct seconds_sum sum = { .total = seconds_total(s) };

	for (size_t i = 0; i < SECONDS_EXACT; i++)
		for (size_t k = 0; k < s->times[i].count; k++)
			*vec_push(&all) = s->times[i].items[k];
	sum.count = all.count;

	struct latency latency = latency_of(&all);
	size_t first = skip_young(ages, age_count, latency.p95);

	for (size_t i = first; i < age_count; i++)
		*vec_push(&all) = ages[i];
	if (first < age_count) {
		latency = latency_of(&all);
		sum.at_least = (latency.p50 >= ages[first] ? TOP_P50 : 0) |
			       (latency.p95 >= ages[first] ? TOP_P95 : 0) |
			       (latency.p99 >= ages[first] ? TOP_P99 : 0);
	}
	sum.p50 = latency.p50;
	sum.p95 = latency.p95;
	sum.p99 = latency.p99;
	sum.max = all.count ? all.items[all.count - 1] : 0;
	vec_done(&all);
	return sum;
}

bool seconds_history(struct seconds *s, nsec_t ret[TOP_SECONDS])
{
	bool any = false;

	close_second(s, s->second);
	for (uint64_t i = 0; i < TOP_SECONDS; i++) {
		ret[i] = s->p95[(s->second + 1 + i) % TOP_SECONDS];
		any |= ret[i];
	}
	return any;
}
