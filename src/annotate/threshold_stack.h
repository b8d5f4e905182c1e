/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threshold_stack - the stack of a span when it passed its threshold.
 *
 * A thread that was blocked then has the stack of that wait, if its stack was recorded: of waits
 * of at least the time of --stacks.  A thread that was running has the stack of the next sample.
 * Otherwise, it is the next of either kind in the span.
 */
#ifndef SONDE_ANNOTATE_THRESHOLD_STACK_H
#define SONDE_ANNOTATE_THRESHOLD_STACK_H

#include "report/export/otlp_put.h"

struct threshold_stack {
	uint32_t stack;
	nsec_t time;
	bool is_running;
};

/* The first stack of a span from a time on; false if there is none. */
bool threshold_stack_find(const struct span_set *spans, span_id span, nsec_t from,
			  struct threshold_stack *ret);

/* The attributes; `limit`: the threshold, ns after the start. */
void threshold_stack_put(struct otlp_put *put, const struct span_set *spans, span_id span,
			 nsec_t limit);

#endif
