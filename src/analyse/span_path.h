/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_path - the critical path through spans alone.
 *
 * Walk from the end of a span back to its start, or to the arrival of its request if that is
 * known.  The time after the end of its last child is its own; before that, it waited for that
 * child; before the start of the child, for the last child that had ended by then; and so on.  Each
 * child is divided in the same way.  Children are clipped to their parents.  Children entirely
 * outside of the parent, and those that the parent does not wait for (follows-from), are omitted
 * with their descendants.
 *
 * Spans come from several clocks, and are rounded.  So a child that ends slightly after
 * the next one begins still counts as ended by then; otherwise a long call would
 * be missing from the path because a short call after it began a microsecond early.
 * "Slightly" is at most a hundredth of the parent, as in CRISP (Uber, USENIX ATC 2022), and a
 * tenth of the child, so that short calls that really overlap do not count as a sequence.
 * The child keeps its length, which one clock measured, and moves to the earlier time with
 * its descendants.
 *
 * Parents are found by id, not by time.  So spans of hosts with clocks that could not be aligned
 * are on one path too, clipped by each host's time of day; the reader of the inputs
 * warns about this (read/merge.h).  Messages between such hosts are not joined, so within a
 * section no path crosses hosts.
 */
#ifndef SONDE_ANALYSE_SPAN_PATH_H
#define SONDE_ANALYSE_SPAN_PATH_H

#include "base/vec.h"
#include "model/span_set.h"

/* A part of the path that belongs to one span. */
struct span_section {
	span_id span;
	nsec_t start, end;
};

struct span_path {
	VEC(struct span_section) items; /* from the end of the span to its start, without gap */
};

void span_path_done(struct span_path *path);

void span_path_find(const struct span_set *spans, span_id span, struct span_path *ret);

#endif
