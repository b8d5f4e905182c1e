/* SPDX-License-Identifier: Apache-2.0 */
#include "top/seconds.h"

#include "test.h"
#include "top/sample.h"

/* Percentiles of the last seconds equal those of all their latencies, sorted. */
TEST(percentiles_of_the_last_seconds_are_exact)
{
	struct seconds s = { 0 };
	latencies all[20] = { 0 };
	uint64_t seed = 1;

	for (uint64_t second = 0; second < ARRAY_LEN(all); second++) {
		latencies want = { 0 };
		size_t count = sample_random(&seed) * 300;
		nsec_t total = 0;

		seconds_advance(&s, second);
		for (size_t i = 0; i < count; i++) {
			nsec_t t = sample_random(&seed) * 1e9;

			seconds_add(&s, t);
			*vec_push(&all[second]) = t;
		}
		for (uint64_t k = second < 4 ? 0 : second - 4; k <= second; k++)
			for (size_t i = 0; i < all[k].count; i++) {
				*vec_push(&want) = all[k].items[i];
				total += all[k].items[i];
			}

		struct seconds_sum sum = seconds_sum(&s, NULL, 0);
		struct latency latency = latency_of(&want);

		CHECK_INT(sum.count, latency.count);
		CHECK_INT(sum.total, total);
		CHECK_INT(sum.p50, latency.p50);
		CHECK_INT(sum.p95, latency.p95);
		CHECK_INT(sum.p99, latency.p99);
		CHECK_INT(sum.max, want.count ? want.items[want.count - 1] : 0);
		CHECK_INT(sum.at_least, 0);
		vec_done(&want);
	}

	nsec_t history[TOP_SECONDS];

	CHECK(seconds_history(&s, history));
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		CHECK_INT(history[TOP_SECONDS - ARRAY_LEN(all) + i], latency_of(&all[i]).p95);
		vec_done(&all[i]);
	}
	CHECK_INT(history[0], 0);
	seconds_done(&s);
}

TEST(a_pause_leaves_empty_seconds)
{
	struct seconds s = { 0 };
	nsec_t history[TOP_SECONDS];

	seconds_add(&s, 10);
	seconds_advance(&s, 3);
	CHECK_INT(seconds_sum(&s, NULL, 0).count, 1);
	seconds_advance(&s, 5);
	CHECK_INT(seconds_sum(&s, NULL, 0).count, 0);
	CHECK(seconds_history(&s, history));
	CHECK_INT(history[TOP_SECONDS - 6], 10);
	seconds_advance(&s, 1000000007);
	CHECK(!seconds_history(&s, history));
	seconds_done(&s);
}

TEST(old_requests_in_flight_raise_percentiles)
{
	struct seconds s = { 0 };
	const nsec_t ages[] = { 1, 50, 2000, 3000 };

	for (nsec_t t = 1; t <= 100; t++)
		seconds_add(&s, t);

	/* those younger than p95 say nothing yet */
	struct seconds_sum sum = seconds_sum(&s, ages, 2);

	CHECK_INT(sum.p99, 99);
	CHECK_INT(sum.at_least, 0);
	sum = seconds_sum(&s, ages, 4);
	CHECK_INT(sum.count, 100);
	CHECK_INT(sum.p50, 51);
	CHECK_INT(sum.p99, 2000);
	CHECK_INT(sum.at_least, TOP_P99);
	seconds_done(&s);
}

TEST(a_stalled_service_has_the_ages_of_its_requests)
{
	struct seconds s = { 0 };
	const nsec_t ages[] = { 100, 200, 300 };
	struct seconds_sum sum = seconds_sum(&s, ages, 3);

	CHECK_INT(sum.count, 0);
	CHECK_INT(sum.p50, 200);
	CHECK_INT(sum.max, 300);
	CHECK_INT(sum.at_least, TOP_P50 | TOP_P95 | TOP_P99);
	seconds_done(&s);
}
