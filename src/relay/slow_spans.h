/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_spans - the slow spans of an export request, as a request of their own.
 *
 * The annotator gets them with their resource and attributes, but without events and links.
 */
#ifndef SONDE_RELAY_SLOW_SPANS_H
#define SONDE_RELAY_SLOW_SPANS_H

#include "base/vec.h"
#include "otlp/trace.h"
#include "relay/slow.h"

struct slow_spans {
	VEC(size_t) offsets;        /* of the slow spans in the request: otlp_span_offset() */
	VEC(nsec_t) limits;         /* their thresholds; 0: none */
	struct otlp_writer request; /* the same spans, in the same order */
};

/* The request has passed otlp_check().  *ret is empty if no span is slow. */
void slow_spans_find(struct view request, struct slow *slow, struct slow_spans *ret);
void slow_spans_done(struct slow_spans *spans);

#endif
