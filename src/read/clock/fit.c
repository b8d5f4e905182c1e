/* SPDX-License-Identifier: Apache-2.0 */
#include "read/clock/fit.h"

#include <string.h>

#include "base/search.h"

/* Steps of a search for a slope: enough to be exact to 1 ns over a day. */
enum { STEPS = 96 };
/* At most one point in DROP_RATIO is dropped, and at most DROP_MAX in all. */
enum { DROP_RATIO = 50, DROP_MAX = 64 };

void fit_done(struct fit *fit)
{
	vec_done(&fit->above.points);
	vec_done(&fit->above.hull);
	vec_done(&fit->below.points);
	vec_done(&fit->below.hull);
}

void fit_add_above(struct fit *fit, double x, double y)
{
	*vec_push(&fit->above.points) = (struct fit_point){ x, y };
}

void fit_add_below(struct fit *fit, double x, double y)
{
	*vec_push(&fit->below.points) = (struct fit_point){ x, -y };
}

static int compare_points(const void *a, const void *b)
{
	const struct fit_point *p = a, *q = b;

	if (p->x != q->x)
		return p->x < q->x ? -1 : 1;
	return p->y < q->y ? -1 : p->y > q->y;
}

/* The points are almost always in order already. */
static void sort_points(struct fit_side *side)
{
	struct fit_point *p = side->points.items;

	for (size_t i = 1; i < side->points.count; i++)
		if (compare_points(&p[i - 1], &p[i]) > 0) {
			qsort(p, side->points.count, sizeof(*p), compare_points);
			return;
		}
}

static const struct fit_point *hull_at(const struct fit_side *side, size_t i)
{
	return &side->points.items[side->hull.items[i]];
}

/* Whether b is on or above the line from a to c. */
static bool is_hidden(const struct fit_point *a, const struct fit_point *b,
		      const struct fit_point *c)
{
	return (b->x - a->x) * (c->y - a->y) <= (b->y - a->y) * (c->x - a->x);
}

/* Builds the lower hull from left to right; each point is added and removed at most once. */
static void make_hull(struct fit_side *side)
{
	side->hull.count = 0;
	for (size_t i = 0; i < side->points.count; i++) {
		const struct fit_point *p = &side->points.items[i];
		size_t n = side->hull.count;

		if (n && hull_at(side, n - 1)->x == p->x)
			continue;
		while (n >= 2 && is_hidden(hull_at(side, n - 2), hull_at(side, n - 1), p))
			n--;
		side->hull.count = n;
		*vec_push(&side->hull) = i;
	}
}

/* Whether the edge of the hull after point i is at least as steep as slope. */
static bool is_steeper(const struct fit_side *side, size_t i, double slope)
{
	const struct fit_point *p = hull_at(side, i), *q = hull_at(side, i + 1);

	return q->y - p->y >= slope * (q->x - p->x);
}

/* The point of the hull that a line of this slope touches from below. */
static size_t tangent_point(const struct fit_side *side, double slope)
{
	return partition_point(side->hull.count - 1, i, !is_steeper(side, i, slope));
}

/* The value at 0 of that line; a concave function of the slope. */
static double height(const struct fit_side *side, double slope)
{
	const struct fit_point *p = hull_at(side, tangent_point(side, slope));

	return p->y - slope * p->x;
}

/* The range of the value at 0 of possible lines of this slope. */
static double highest(const struct fit *fit, double slope)
{
	return height(&fit->above, slope);
}

static double lowest(const struct fit *fit, double slope)
{
	return -height(&fit->below, -slope);
}

/* A concave function of the slope, to be maximised. */
struct objective {
	const struct fit *fit;
	double x; /* unused by MAX_GAP */
	enum { MAX_GAP, MAX_VALUE, MIN_VALUE } kind;
};

static double objective_value(const struct objective *objective, double slope)
{
	switch (objective->kind) {
	case MAX_GAP: /* range between the two sides */
		return highest(objective->fit, slope) - lowest(objective->fit, slope);
	case MAX_VALUE: /* highest value at x */
		return highest(objective->fit, slope) + slope * objective->x;
	default: /* lowest value at x, negated */
		return -(lowest(objective->fit, slope) + slope * objective->x);
	}
}

static double best_slope(const struct objective *objective, double min, double max)
{
	for (int i = 0; i < STEPS; i++) {
		double a = min + (max - min) / 3, b = max - (max - min) / 3;

		if (objective_value(objective, a) < objective_value(objective, b))
			min = a;
		else
			max = b;
	}
	return (min + max) / 2;
}

/* The last possible slope between a possible one and an end. */
static double last_possible_slope(const struct fit *fit, double good, double end)
{
	struct objective objective = { fit, 0, MAX_GAP };

	if (objective_value(&objective, end) >= 0)
		return end;
	for (int i = 0; i < STEPS; i++) {
		double mid = (good + end) / 2;

		if (objective_value(&objective, mid) >= 0)
			good = mid;
		else
			end = mid;
	}
	return good;
}

static void drop(struct fit_side *side, double slope)
{
	size_t i = side->hull.items[tangent_point(side, slope)];

	memmove(side->points.items + i, side->points.items + i + 1,
		(--side->points.count - i) * sizeof(struct fit_point));
	side->dropped++;
}

static bool may_drop(const struct fit_side *side)
{
	return side->dropped < DROP_MAX &&
	       (side->dropped + 1) * DROP_RATIO <= side->points.count + side->dropped;
}

/* The slope with the widest gap; drops contradictory points while it may. */
static double widest_slope(struct fit *fit, double slope_max)
{
	struct objective objective = { fit, 0, MAX_GAP };

	for (;;) {
		make_hull(&fit->above);
		make_hull(&fit->below);

		double slope = best_slope(&objective, -slope_max, slope_max);

		if (objective_value(&objective, slope) >= 0 || !may_drop(&fit->above) ||
		    !may_drop(&fit->below))
			return slope;
		drop(&fit->above, slope);
		drop(&fit->below, -slope);
	}
}

/* The line of this slope in the middle between the most contradictory points. */
static struct fit_line least_bad_line(const struct fit *fit, double from, double slope)
{
	double high = highest(fit, slope), low = lowest(fit, slope);

	return (struct fit_line){ .from = from,
				  .at_from = (high + low) / 2 + slope * from,
				  .slope = slope,
				  .bound = low - high,
				  .contradictory = true };
}

static void keep_hull(struct fit_side *side)
{
	for (size_t i = 0; i < side->hull.count; i++) {
		side->points.items[i] = *hull_at(side, i);
		side->hull.items[i] = i;
	}
	side->points.count = side->hull.count;
}

void fit_reduce(struct fit *fit)
{
	sort_points(&fit->above);
	sort_points(&fit->below);
	make_hull(&fit->above);
	make_hull(&fit->below);
	keep_hull(&fit->above);
	keep_hull(&fit->below);
}

/* The line with the least worst error, if lines are possible. */
static struct fit_line best_line(const struct fit *fit, double from, double to, double min,
				 double max)
{
	double x[2] = { from, to }, middle[2], bound = 0;

	for (int i = 0; i < 2; i++) {
		struct objective high = { fit, x[i], MAX_VALUE }, low = { fit, x[i], MIN_VALUE };
		double top = objective_value(&high, best_slope(&high, min, max));
		double bottom = -objective_value(&low, best_slope(&low, min, max));

		middle[i] = (top + bottom) / 2;
		if (bound < (top - bottom) / 2)
			bound = (top - bottom) / 2;
	}

	double slope = to > from ? (middle[1] - middle[0]) / (to - from) : min;

	slope = slope < min   ? min
		: slope > max ? max
			      : slope; /* inexact if the interval is very short */
	return (struct fit_line){
		.from = from, .at_from = middle[0], .slope = slope, .bound = bound
	};
}

struct fit_line fit_solve(struct fit *fit, double from, double to, double slope_max)
{
	sort_points(&fit->above);
	sort_points(&fit->below);

	double best = widest_slope(fit, slope_max);
	struct objective objective = { fit, 0, MAX_GAP };

	keep_hull(&fit->above);
	keep_hull(&fit->below);
	if (objective_value(&objective, best) < 0)
		return least_bad_line(fit, from, best);
	return best_line(fit, from, to, last_possible_slope(fit, best, -slope_max),
			 last_possible_slope(fit, best, slope_max));
}
