/* SPDX-License-Identifier: Apache-2.0 */
#include "top/sample.h"

#include <math.h>

#include "test.h"

enum { COUNT = 1000, RUNS = 4000 };

/* Latencies with a long tail, and a cost that is not proportional to them. */
static void make(nsec_t latencies[COUNT], double costs[COUNT])
{
	uint64_t seed = 7;

	for (size_t i = 0; i < COUNT; i++) {
		latencies[i] = 1000 / (sample_random(&seed) + 0.001);
		costs[i] = sample_random(&seed) * latencies[i];
	}
}

TEST(a_small_batch_is_taken_whole)
{
	nsec_t latencies[] = { 5, 0, 7 };
	uint64_t seed = 1;
	samples chosen = { 0 };

	sample_choose(latencies, 3, 3, &seed, &chosen);
	CHECK_INT(chosen.count, 3);
	for (size_t i = 0; i < chosen.count; i++) {
		CHECK_INT(chosen.items[i].index, i);
		CHECK(chosen.items[i].weight == 1);
	}
	vec_done(&chosen);
}

TEST(no_requests_and_no_budget_give_no_sample)
{
	nsec_t latencies[] = { 5, 6 };
	uint64_t seed = 1;
	samples chosen = { 0 };

	sample_choose(latencies, 0, 10, &seed, &chosen);
	sample_choose(latencies, 2, 0, &seed, &chosen);
	CHECK_INT(chosen.count, 0);
}

TEST(requests_without_latency_are_chosen_too)
{
	nsec_t latencies[100] = { 0 };
	uint64_t seed = 1;
	samples chosen = { 0 };

	sample_choose(latencies, 100, 10, &seed, &chosen);
	CHECK(chosen.count >= 9 && chosen.count <= 11);
	vec_done(&chosen);
}

TEST(the_slowest_requests_are_always_chosen)
{
	nsec_t latencies[COUNT];
	uint64_t seed = 3;

	for (size_t i = 0; i < COUNT; i++)
		latencies[i] = i % 100 == 17 ? 1000000 : 1000;
	for (size_t run = 0; run < 50; run++) {
		samples chosen = { 0 };
		size_t slow = 0;

		sample_choose(latencies, COUNT, 30, &seed, &chosen);
		for (size_t i = 0; i < chosen.count; i++)
			slow += chosen.items[i].index % 100 == 17 && chosen.items[i].weight == 1;
		CHECK_INT(slow, COUNT / 100);
		CHECK(chosen.count >= 29 && chosen.count <= 31);
		vec_done(&chosen);
	}
}

/* The mean over many samples is within four standard errors of the true sum. */
static void check_unbiased(double size)
{
	nsec_t latencies[COUNT];
	double costs[COUNT], sum = 0, mean = 0, squares = 0;
	uint64_t seed = 5;

	make(latencies, costs);
	for (size_t i = 0; i < COUNT; i++)
		sum += costs[i];
	for (size_t run = 1; run <= RUNS; run++) {
		samples chosen = { 0 };
		double estimate = 0;

		sample_choose(latencies, COUNT, size, &seed, &chosen);
		for (size_t i = 0; i < chosen.count; i++)
			estimate += chosen.items[i].weight * costs[chosen.items[i].index];
		vec_done(&chosen);

		double delta = estimate - mean;

		mean += delta / run;
		squares += delta * (estimate - mean);
	}

	double error = sqrt(squares / RUNS / RUNS);

	CHECK(fabs(mean - sum) < 4 * error + 1e-9 * sum);
	CHECK(error < sum / 10);
}

TEST(weighted_sums_are_unbiased)
{
	check_unbiased(100);
	check_unbiased(10);
	check_unbiased(0.5);
}
