/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_time - when a span is the innermost one that is open on a thread.
 *
 * The contexts of a thread contain that.  While the context is unknown, the span has the time of
 * its thread, and a span without contexts also that in which the context is an ancestor.  A joined
 * span has the time in which threads worked for its request, or for requests below it that no
 * service exports.  Then the time of child spans is subtracted.
 */
#ifndef SONDE_ANNOTATE_OWN_TIME_H
#define SONDE_ANNOTATE_OWN_TIME_H

#include "base/vec.h"
#include "model/span_set.h"

struct own_time {
	nsec_t start, end;
	thread_id thread;
};

struct own_times {
	VEC(struct own_time) items; /* by thread, then by start; without overlap */
};

/* Within the time of the span.  Linear in its contexts, slices and children, but for sorting. */
void own_times_find(const struct span_set *spans, span_id span, struct own_times *ret);
void own_times_done(struct own_times *times);

#endif
