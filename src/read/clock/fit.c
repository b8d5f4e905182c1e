/* SPDX-License-Identifier: Apache-2.0 */
#include "read/clock/fit.h"

#include <string.h>

#include "base/search.h"

/* Halvings of an interval of slopes, until a day's length makes no nanosecond of difference. */
enum { STEPS = 96 };
/* Of the points on a side, the part that may be wrong; and how often we look for them at all. */
enum { WRONG_PART = 50, WRONG_MAX = 64 };

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

static int by_place(const void *a, const void *b)
{
	const struct fit_point *p = a, *q = b;

	if (p->x != q->x)
		return p->x < q->x ? -1 : 1;
	return p->y < q->y ? -1 : p->y > q->y;
}

/* They mostly are in order already. */
static void sort_points(struct fit_side *side)
{
	struct fit_point *p = side->points.items;

	for (size_t i = 1; i < side->points.count; i++)
		if (by_place(&p[i - 1], &p[i]) > 0) {
			qsort(p, side->points.count, sizeof(*p), by_place);
			return;
		}
}

static const struct fit_point *hull_at(const struct fit_side *side, size_t i)
{
	return &side->points.items[side->hull.items[i]];
}

/* Whether b is not below the line from a to c. */
static bool is_hidden(const struct fit_point *a, const struct fit_point *b,
		      const struct fit_point *c)
{
	return (b->x - a->x) * (c->y - a->y) <= (b->y - a->y) * (c->x - a->x);
}

/* The lower hull, from left to right; each point is taken once and left out once at most. */
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

/* Which point of the hull a line of this slope touches that comes from below. */
static size_t touched(const struct fit_side *side, double slope)
{
	return partition_point(side->hull.count - 1, i, !is_steeper(side, i, slope));
}

/* The value at 0 of that line: concave as a function of the slope. */
static double height(const struct fit_side *side, double slope)
{
	const struct fit_point *p = hull_at(side, touched(side, slope));

	return p->y - slope * p->x;
}

/* The highest, and the lowest, value at 0 of a line of this slope. */
static double highest(const struct fit *fit, double slope)
{
	return height(&fit->above, slope);
}

static double lowest(const struct fit *fit, double slope)
{
	return -height(&fit->below, -slope);
}

/* What is to be made as large as possible by the choice of a slope; concave. */
struct aim {
	const struct fit *fit;
	double x;
	enum { AIM_ROOM, AIM_HIGH, AIM_LOW } what;
};

static double aim_value(const struct aim *aim, double slope)
{
	switch (aim->what) {
	case AIM_ROOM: /* between the two sides */
		return highest(aim->fit, slope) - lowest(aim->fit, slope);
	case AIM_HIGH: /* the value at x */
		return highest(aim->fit, slope) + slope * aim->x;
	default: /* the same, downwards */
		return -(lowest(aim->fit, slope) + slope * aim->x);
	}
}

static double best_slope(const struct aim *aim, double min, double max)
{
	for (int i = 0; i < STEPS; i++) {
		double a = min + (max - min) / 3, b = max - (max - min) / 3;

		if (aim_value(aim, a) < aim_value(aim, b))
			min = a;
		else
			max = b;
	}
	return (min + max) / 2;
}

/* The last slope with room on the way from one that has some to another. */
static double last_with_room(const struct fit *fit, double good, double end)
{
	struct aim aim = { fit, 0, AIM_ROOM };

	if (aim_value(&aim, end) >= 0)
		return end;
	for (int i = 0; i < STEPS; i++) {
		double mid = (good + end) / 2;

		if (aim_value(&aim, mid) >= 0)
			good = mid;
		else
			end = mid;
	}
	return good;
}

static void drop(struct fit_side *side, double slope)
{
	size_t i = side->hull.items[touched(side, slope)];

	memmove(side->points.items + i, side->points.items + i + 1,
		(--side->points.count - i) * sizeof(struct fit_point));
	side->dropped++;
}

static bool may_drop(const struct fit_side *side)
{
	return side->dropped < WRONG_MAX &&
	       (side->dropped + 1) * WRONG_PART <= side->points.count + side->dropped;
}

/* The slope with most room; points that leave none are dropped as long as they may be. */
static double roomiest(struct fit *fit, double slope_max)
{
	struct aim aim = { fit, 0, AIM_ROOM };

	for (;;) {
		make_hull(&fit->above);
		make_hull(&fit->below);

		double slope = best_slope(&aim, -slope_max, slope_max);

		if (aim_value(&aim, slope) >= 0 || !may_drop(&fit->above) || !may_drop(&fit->below))
			return slope;
		drop(&fit->above, slope);
		drop(&fit->below, -slope);
	}
}

/* Of this slope, in the middle between the points that contradict each other most. */
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

/* Of lines that are possible. */
static struct fit_line best_line(const struct fit *fit, double from, double to, double min,
				 double max)
{
	double x[2] = { from, to }, middle[2], bound = 0;

	for (int i = 0; i < 2; i++) {
		struct aim high = { fit, x[i], AIM_HIGH }, low = { fit, x[i], AIM_LOW };
		double top = aim_value(&high, best_slope(&high, min, max));
		double bottom = -aim_value(&low, best_slope(&low, min, max));

		middle[i] = (top + bottom) / 2;
		if (bound < (top - bottom) / 2)
			bound = (top - bottom) / 2;
	}

	double slope = to > from ? (middle[1] - middle[0]) / (to - from) : min;

	slope = slope < min ? min : slope > max ? max : slope; /* the stretch may be very short */
	return (struct fit_line){
		.from = from, .at_from = middle[0], .slope = slope, .bound = bound
	};
}

struct fit_line fit_solve(struct fit *fit, double from, double to, double slope_max)
{
	sort_points(&fit->above);
	sort_points(&fit->below);

	double best = roomiest(fit, slope_max);
	struct aim aim = { fit, 0, AIM_ROOM };

	keep_hull(&fit->above);
	keep_hull(&fit->below);
	if (aim_value(&aim, best) < 0)
		return least_bad_line(fit, from, best);
	return best_line(fit, from, to, last_with_room(fit, best, -slope_max),
			 last_with_room(fit, best, slope_max));
}
