/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/band.h"

#include <math.h>

#include "diagnose/feature.h"
#include "learned.h"
#include "test.h"

enum { COUNT = 1000 };

static const struct band_options options = { 10 * NSEC_PER_USEC, 3, 0.5 };

/* The band of times around a middle; `deviation` is that of their logarithm. */
static struct band band_around(nsec_t middle, double deviation)
{
	nsec_t times[COUNT];

	for (size_t i = 0; i < COUNT; i++)
		times[i] = middle * exp(deviation * random_normal(i, 1));
	return band_of(times, COUNT, &options);
}

static bool is_near(double a, double b, double part)
{
	return fabs(a - b) <= part * fabs(b);
}

TEST(a_band_ends_three_deviations_from_the_middle_in_log_time)
{
	struct band b = band_around(NSEC_PER_MSEC, 0.3);

	CHECK(!b.by_quantiles);
	CHECK(is_near(b.middle, 1e6, 0.05));
	CHECK(is_near(b.high, 1e6 * exp(0.9), 0.1));
	CHECK(is_near(b.low, 1e6 * exp(-0.9), 0.1));
	CHECK(is_near(band_score(&b, b.high, &options), 3, 0.01));
	CHECK(is_near(band_score(&b, b.low, &options), -3, 0.01));
	CHECK(fabs(band_score(&b, b.middle, &options)) < 0.01);
}

TEST(faster_is_outside_of_the_band_although_three_sigma_reach_below_zero)
{
	struct band b = band_around(NSEC_PER_MSEC, 0.4);

	CHECK(b.mean - 3 * b.deviation < 0);
	CHECK(b.low > 0);
	CHECK(band_score(&b, 100 * NSEC_PER_USEC, &options) < -3);
}

TEST(a_time_that_the_baseline_does_not_have_counts_above_the_floor_only)
{
	/* for each floor, as logarithms are rounded differently */
	for (nsec_t floor = 5 * NSEC_PER_USEC; floor < 100 * NSEC_PER_USEC; floor += 997) {
		struct band_options o = { floor, 3, 0.5 };
		nsec_t times[COUNT] = { 0 };
		struct band b = band_of(times, COUNT, &o);

		CHECK(fabs(band_score(&b, 0, &o)) < 0.001);
		CHECK(fabs(band_score(&b, floor, &o)) < 0.001);
		CHECK(band_score(&b, 2 * floor, &o) > 3);
	}
}

TEST(times_below_the_floor_do_not_differ)
{
	struct band b = band_around(NSEC_PER_USEC, 0.3);

	CHECK(fabs(band_score(&b, 10, &options)) < 0.001);
	CHECK(fabs(band_score(&b, options.floor, &options)) < 0.001);
}

TEST(a_wait_of_half_of_the_requests_has_a_band_of_quantiles)
{
	nsec_t times[COUNT];

	for (size_t i = 0; i < COUNT; i++)
		times[i] = i % 2 ? 2 * NSEC_PER_MSEC * exp(0.2 * random_normal(i, 1)) : 0;

	struct band b = band_of(times, COUNT, &options);

	CHECK(b.by_quantiles);
	CHECK(b.low == 0);
	CHECK(b.high > 2e6 && b.high < 6e6);
	CHECK(fabs(band_score(&b, 2 * NSEC_PER_MSEC, &options)) < 3);
	CHECK(band_score(&b, 0, &options) >= -3);
	CHECK(band_score(&b, 10 * NSEC_PER_MSEC, &options) > 3);
}

TEST(quantiles_leave_out_as_many_times_as_a_normal_curve)
{
	enum { MANY = 4000 };
	nsec_t times[MANY];

	for (size_t i = 0; i < MANY; i++) /* two modes, far from each other */
		times[i] = (i % 2 ? 1 : 9) * NSEC_PER_MSEC + i;
	times[0] = 1000 * NSEC_PER_MSEC;

	struct band b = band_of(times, MANY, &options);

	CHECK(b.by_quantiles);
	CHECK(b.high < 11e6); /* 0.13 % are above it: five of 4,000 */
	CHECK(b.low >= 1e6);
}

TEST(equal_times_have_a_band_of_some_width)
{
	nsec_t times[COUNT];

	for (size_t i = 0; i < COUNT; i++)
		times[i] = NSEC_PER_MSEC;

	struct band b = band_of(times, COUNT, &options);

	CHECK(fabs(band_score(&b, 1.1 * NSEC_PER_MSEC, &options)) < 3);
	CHECK(band_score(&b, 1.3 * NSEC_PER_MSEC, &options) > 3);
	CHECK(band_score(&b, 0.7 * NSEC_PER_MSEC, &options) < -3);
}

TEST(one_time_makes_a_band)
{
	nsec_t time = NSEC_PER_MSEC;
	struct band b = band_of(&time, 1, &options);

	CHECK(is_near(b.middle, 1e6, 1e-6) && b.low < b.middle && b.middle < b.high);
}

TEST(extreme_times_give_finite_scores)
{
	nsec_t times[] = { 0, 1, INT64_MAX, INT64_MAX };
	struct band b = band_of(times, ARRAY_LEN(times), &options);

	CHECK(isfinite(b.low) && isfinite(b.high) && isfinite(b.mean) && isfinite(b.deviation));
	CHECK(isfinite(band_score(&b, 0, &options)));
	CHECK(isfinite(band_score(&b, UINT64_MAX, &options)));
}

TEST(rare_events_score_as_a_normal_variable_of_that_probability)
{
	CHECK(is_near(band_score_of_probability(0.00134990), 3, 1e-3));
	CHECK(is_near(band_score_of_probability(0.02275013), 2, 1e-3));
	CHECK(fabs(band_score_of_probability(0.5)) < 1e-6);
	CHECK(band_score_of_probability(1) <= 0);
}

TEST(features_of_intervals_add_up_to_those_of_the_span)
{
	const struct observation *o = &hand_trace(1)->shop;
	struct kept_span s = { .interval_count = o->intervals.count,
			       .run_count = o->runs.count,
			       .intervals = o->intervals.items,
			       .runs = o->runs.items,
			       .queueing = 7,
			       .has_states = true };
	nsec_t all[FEATURE_COUNT], part[FEATURE_COUNT], sum[FEATURE_COUNT] = { 0 };

	features_of(&s, INTERVAL_ALL, all);
	for (uint32_t i = 0; i < s.interval_count; i++) {
		features_of(&s, i, part);
		for (enum span_feature f = 0; f < FEATURE_COUNT; f++)
			sum[f] += part[f];
	}
	CHECK_INT(all[FEATURE_QUEUEING], 7);
	CHECK(all[FEATURE_LOCK] > 0 && all[FEATURE_RUNNING] > all[FEATURE_LOCK]);
	for (enum span_feature f = 0; f < FEATURE_QUEUEING; f++)
		CHECK_INT(sum[f], all[f]);
}
