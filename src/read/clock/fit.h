/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit - the line that separates two sets of points, with the least worst-case error.
 *
 * The offset between two clocks is nearly a linear function of time.  A message
 * limits it at one point, since it was received after it was sent: messages in one
 * direction are points below the line, those in the other direction points above.
 * Every line between the two sets is possible, and only their convex hulls matter
 * (A. Duda and others, Estimating global time in distributed systems, ICDCS 1987).
 *
 * Of the possible lines, fit_solve() takes the one with the least worst error over
 * an interval of x.  At each x, the values of possible lines form a range, which is
 * widest at one end of the interval; so the wanted line passes through the middles
 * of the ranges at both ends.  That line is possible itself: the pairs of values
 * that possible lines have at the two ends form a convex set in the plane, and such
 * a set contains the middle of its bounding rectangle.  Half of the wider range is
 * the bound: if the true offset is a line and the points are right, the true offset
 * is within this bound everywhere in the interval.
 *
 * Some points can be wrong.  If no line is possible, the points that limit the least
 * bad line are dropped in pairs, up to a fiftieth of all points.
 */
#ifndef SONDE_READ_CLOCK_FIT_H
#define SONDE_READ_CLOCK_FIT_H

#include "base/base.h"
#include "base/vec.h"

struct fit_point {
	double x, y;
};

/* The points on one side, and the indices of those on their hull. */
struct fit_side {
	VEC(struct fit_point)
	points; /* y negated for those below, so that both sides use the same code */
	VEC(uint32_t) hull;
	size_t dropped;
};

struct fit {
	struct fit_side above, below;
};

void fit_done(struct fit *fit);

void fit_add_above(struct fit *fit, double x, double y);
void fit_add_below(struct fit *fit, double x, double y);

struct fit_line {
	double from, at_from; /* start of the interval, and the value there */
	double slope;
	double bound;       /* maximum distance of the true line */
	bool contradictory; /* no line is possible: this one violates the points least, and */
			    /* bound is the violation */
};

/*
 * Computes the line for an interval of x, with a slope between -slope_max and
 * slope_max.  Each side must have at least one point.  Removes all points except
 * those on the hulls.
 */
struct fit_line fit_solve(struct fit *fit, double from, double to, double slope_max);

/* Removes all points except those on the hulls, which imply the others. */
void fit_reduce(struct fit *fit);

#endif
