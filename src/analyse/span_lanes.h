/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_lanes - which threads to look at for a part of a span's time.
 *
 * Thousands of threads may work for a span, one after the other, and a path may cut its time into
 * thousands of sections.  To look at each thread for each section would take quadratic time.  So
 * threads wait in a heap until their context changes next; a section takes from it those that may
 * be in the span before the section ends.  Sections come in the order of time.
 */
#ifndef SONDE_ANALYSE_SPAN_LANES_H
#define SONDE_ANALYSE_SPAN_LANES_H

#include "base/vec.h"
#include "model/model.h"

struct span_lanes_item {
	uint64_t key;
	uint32_t lane;
};

typedef VEC(struct span_lanes_item) span_lanes_heap; /* the smallest key first */

struct span_lanes {
	span_id span;
	nsec_t entered, left; /* when a thread was in it for the first time, and the last */
	nsec_t at;            /* where the last section began */
	VEC(const struct residency *) all; /* of threads that are followed; by thread */
	VEC(uint32_t) by_first;       /* of those, in the order in which they entered the span */
	size_t next;                  /* of these, the first that is not in `inside` */
	span_lanes_heap waiting;      /* by when their context changes next */
	span_lanes_heap inside;       /* have entered, and are not known to have left; by thread */
	const struct residency *last; /* of those that left: the last to do so, or NULL */
	VEC(uint32_t) taken;          /* for the current section */
};

void span_lanes_init(struct span_lanes *lanes, const struct model *model, span_id span);
void span_lanes_done(struct span_lanes *lanes);

/* Fill `taken`, by thread: those that may be in the span, or below it, between two times. */
void span_lanes_take(struct span_lanes *lanes, const struct model *model, nsec_t from, nsec_t to);

/* The thread that was in the span last before the section that was taken; 0 if none was. */
thread_id span_lanes_last(struct span_lanes *lanes, const struct model *model);

#endif
