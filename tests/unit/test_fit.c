/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the line with a brute-force search: the extreme possible lines pass through two
 * of the points, or through one of them at the maximum slope.
 */
#include <stdlib.h>

#include "read/clock/fit.h"
#include "test.h"

enum { POINTS = 12 };
static const double slope_max = 0.5, slack = 1e-6;

struct cloud {
	struct fit_point above[POINTS], below[POINTS];
	size_t above_count, below_count;
};

static double random_between(double min, double max)
{
	return min + (max - min) * (double)random() / RAND_MAX;
}

/* Random points on the correct sides of a line. */
static struct cloud random_cloud(double value, double slope)
{
	struct cloud c = { .above_count = 1 + random() % POINTS,
			   .below_count = 1 + random() % POINTS };

	for (size_t i = 0; i < c.above_count; i++) {
		double x = (double)(random() % 100);

		c.above[i] = (struct fit_point){ x, value + slope * x + random_between(0, 10) };
	}
	for (size_t i = 0; i < c.below_count; i++) {
		double x = (double)(random() % 100);

		c.below[i] = (struct fit_point){ x, value + slope * x - random_between(0, 10) };
	}
	return c;
}

static struct fit_line solve(const struct cloud *c, double from, double to)
{
	_cleanup_(fit_done) struct fit fit = { 0 };

	for (size_t i = 0; i < c->above_count; i++)
		fit_add_above(&fit, c->above[i].x, c->above[i].y);
	for (size_t i = 0; i < c->below_count; i++)
		fit_add_below(&fit, c->below[i].x, c->below[i].y);
	return fit_solve(&fit, from, to, slope_max);
}

/* Whether a line through p separates all points. */
static bool is_possible(const struct cloud *c, struct fit_point p, double slope)
{
	if (slope > slope_max + slack || slope < -slope_max - slack)
		return false;
	for (size_t i = 0; i < c->above_count; i++)
		if (p.y + slope * (c->above[i].x - p.x) > c->above[i].y + slack)
			return false;
	for (size_t i = 0; i < c->below_count; i++)
		if (p.y + slope * (c->below[i].x - p.x) < c->below[i].y - slack)
			return false;
	return true;
}

/* The values of possible lines at x. */
struct value_range {
	double low, high;
};

static void try_line(const struct cloud *c, struct fit_point p, double slope, double x,
		     struct value_range *r)
{
	double value = p.y + slope * (x - p.x);

	if (!is_possible(c, p, slope))
		return;
	r->low = value < r->low ? value : r->low;
	r->high = value > r->high ? value : r->high;
}

static struct value_range try_all(const struct cloud *c, double x)
{
	struct value_range r = { 1e9, -1e9 };
	struct fit_point all[2 * POINTS];
	size_t count = 0;

	for (size_t i = 0; i < c->above_count; i++)
		all[count++] = c->above[i];
	for (size_t i = 0; i < c->below_count; i++)
		all[count++] = c->below[i];
	for (size_t i = 0; i < count; i++) {
		try_line(c, all[i], slope_max, x, &r);
		try_line(c, all[i], -slope_max, x, &r);
		for (size_t k = 0; k < i; k++)
			if (all[k].x != all[i].x)
				try_line(c, all[i], (all[k].y - all[i].y) / (all[k].x - all[i].x),
					 x, &r);
	}
	return r;
}

static bool is_near(double a, double b)
{
	return a - b < 1e-4 && b - a < 1e-4;
}

TEST(the_bound_is_half_of_the_possible_range)
{
	srandom(1);
	for (int round = 0; round < 2000; round++) {
		struct cloud c = random_cloud(random_between(-100, 100),
					      random_between(-slope_max, slope_max));
		double from = random_between(-20, 50), to = from + random_between(0.1, 100);
		struct fit_line line = solve(&c, from, to);
		double at_to = line.at_from + line.slope * (to - from);
		struct value_range a = try_all(&c, from), b = try_all(&c, to);
		double wider = a.high - a.low > b.high - b.low ? a.high - a.low : b.high - b.low;

		CHECK(!line.contradictory);
		CHECK(is_possible(&c, (struct fit_point){ from, line.at_from }, line.slope));
		CHECK(is_near(line.at_from, (a.low + a.high) / 2));
		CHECK(is_near(at_to, (b.low + b.high) / 2));
		CHECK(is_near(line.bound, wider / 2));
	}
}

TEST(points_without_a_possible_line_are_contradictory)
{
	struct cloud c = { .above = { { 0, 10 }, { 50, 10 }, { 100, 10 } },
			   .below = { { 0, 0 }, { 50, 14 }, { 100, 0 } },
			   .above_count = 3,
			   .below_count = 3 };
	struct fit_line line = solve(&c, 0, 100);
	double middle = line.at_from + 50 * line.slope;

	CHECK(line.contradictory);
	CHECK(is_near(middle, 12)); /* wrong by 2 on both sides */
	CHECK(is_near(line.bound, 4));
}

TEST(a_few_wrong_points_are_dropped)
{
	_cleanup_(fit_done) struct fit fit = { 0 };

	for (int i = 0; i < 500; i++) {
		fit_add_above(&fit, i, 5 + 0.01 * i + (i % 7 ? 3 : 0.1));
		fit_add_below(&fit, i, 5 + 0.01 * i - (i % 5 ? 2 : 0.1));
	}
	fit_add_above(&fit, 100, -50);
	fit_add_below(&fit, 300, 500);

	struct fit_line line = fit_solve(&fit, 0, 500, slope_max);

	CHECK(!line.contradictory);
	CHECK(fit.above.dropped >= 1 && fit.above.dropped < 6);
	CHECK_INT(fit.above.dropped, fit.below.dropped);
	CHECK(line.bound < 0.5);
	CHECK(line.at_from > 4.7 && line.at_from < 5.3);
	CHECK(line.slope > 0.009 && line.slope < 0.011);
}
