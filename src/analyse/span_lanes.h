/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_lanes - the threads that can work for a span in a section of its time.
 *
 * Thousands of threads can work for a span, one after the other, and a path can divide the span
 * into thousands of sections.  Checking each thread for each section would take quadratic time.
 * So threads wait in a heap, sorted by the next change of their context, and a section takes those
 * that can be in the span before the section ends.  Sections come in time order.
 */
#ifndef SONDE_ANALYSE_SPAN_LANES_H
#define SONDE_ANALYSE_SPAN_LANES_H

#include "base/vec.h"
#include "model/model.h"

/* A lane is a thread that works for the span; its number is an index in `all`. */
struct span_lanes_item {
	uint64_t key;
	uint32_t lane;
};

typedef VEC(struct span_lanes_item) span_lanes_heap; /* the smallest key first */

struct span_lanes {
	span_id span;
	nsec_t entered, left;              /* first entry and last exit of any thread */
	nsec_t at;                         /* start of the last section */
	VEC(const struct residency *) all; /* of threads that paths follow; by thread */
	VEC(uint32_t) by_first;            /* lanes, in the order of their first entry */
	size_t next;                       /* in by_first, the first lane that is not in `inside` */
	span_lanes_heap waiting;           /* by the next change of their context */
	span_lanes_heap inside;            /* lanes that have entered; by thread */
	const struct residency *last;      /* of the lanes that left, the last one, or NULL */
	VEC(uint32_t) taken;               /* lanes of the current section */
};

void span_lanes_init(struct span_lanes *lanes, const struct model *model, span_id span);
void span_lanes_done(struct span_lanes *lanes);

/* Fills `taken`, by thread, with the lanes that can be in the span or below between two times. */
void span_lanes_take(struct span_lanes *lanes, const struct model *model, nsec_t from, nsec_t to);

/* The last thread in the span before the section that was taken; may be none. */
thread_id span_lanes_last(struct span_lanes *lanes, const struct model *model);

#endif
