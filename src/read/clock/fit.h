/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit - the line between two sets of points: those above it, and those below.
 *
 * Clock B as a function of clock A is nearly a line: an offset and a drift.  A
 * message says on which side of a point the line passes, as it was received
 * after it was sent.  Messages of one direction are points below the line, those
 * of the other are points above it; all lines that keep to that are possible.
 * Only the convex hulls of the two sets matter (A. Duda and others, Estimating
 * global time in distributed systems, ICDCS 1987).
 *
 * Of the possible lines we take the one whose worst error over a stretch is the
 * least.  At a given moment the possible lines pass through an interval, which is
 * widest at one of the stretch's ends; so the line through the middles of the
 * intervals at both ends is that one.  It is possible itself: the pairs of values
 * that possible lines have at the two ends are a convex set, and a convex set
 * contains the middle of the rectangle that encloses it.  Half of the wider of
 * the two intervals is the bound: whatever the truth is, if it is a line and the
 * points are right, it is not farther away anywhere in the stretch.
 *
 * Some points may be wrong.  If no line is possible, those that stand in the way
 * of the least bad one are dropped, two by two, up to a fiftieth of all.
 */
#ifndef SONDE_READ_CLOCK_FIT_H
#define SONDE_READ_CLOCK_FIT_H

#include "base/base.h"
#include "base/vec.h"

struct fit_point {
	double x, y;
};

/* Points on one side, and the numbers of those on their hull. */
struct fit_side {
	VEC(struct fit_point) points; /* y mirrored for those below, so that both are alike */
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
	double from, at_from; /* the line's value there, */
	double slope;         /* and how it grows */
	double bound;         /* how far the truth may be from it */
	bool contradictory;   /* no line is possible: this one is wrong by as little as can be, */
			      /* and the bound is by how much the points contradict each other */
};

/*
 * The line for the stretch between two x; its slope is not beyond slope_max in
 * either direction.  Each side has a point at least.  Of the points, only those
 * that were believed and are on the hulls are left.
 */
struct fit_line fit_solve(struct fit *fit, double from, double to, double slope_max);

/* Leave only the points on the hulls: if a line is on the right side of them, it is of all others.
 */
void fit_reduce(struct fit *fit);

#endif
