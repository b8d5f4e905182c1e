/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_path - the critical path as spans alone tell it.
 *
 * From the end of a span back to its begin: the time after its last child
 * ended is its own; then that child is what was waited for; then, from the
 * child's begin, the last child that had ended by then; and so on, each child
 * in the same way.  Children are clipped to their parents; those wholly
 * outside, and those nobody waits for (follows-from), are left out with all
 * below them.
 *
 * Spans are timed by several clocks, and rounded.  So a child that ends after
 * the next one begins, by a sliver, still counts as ended by then: otherwise a
 * long call would be missing from the path because a short one after it began a
 * microsecond early.  A sliver is at most a hundredth of the parent, as CRISP has
 * it (Uber, USENIX ATC 2022), and a tenth of the child, so that short calls
 * that really overlap do not count as a sequence.  The child keeps its length, which
 * one clock has measured, and is put that much earlier with all below it.
 *
 * Whose child a span is, its ids say.  So spans of machines whose clocks could not
 * be aligned are on one path all the same, clipped by what each calls the time
 * of day; who reads the inputs tells of that (read/merge.h).  What threads sent each
 * other is not joined then, so within a section no path crosses machines.
 */
#ifndef SONDE_ANALYSE_SPAN_PATH_H
#define SONDE_ANALYSE_SPAN_PATH_H

#include "base/vec.h"
#include "model/span_set.h"

struct section {
	span_id span;
	nsec_t start, end;
};

struct span_path {
	VEC(struct section) items; /* from the end of the span to its begin, without gap */
};

void span_path_done(struct span_path *path);

void span_path_find(const struct span_set *spans, span_id span, struct span_path *ret);

#endif
