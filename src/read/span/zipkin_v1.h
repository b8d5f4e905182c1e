/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zipkin_v1 - spans of version 1 of Zipkin's API.
 *
 * A span has no kind.  Its "core" annotations contain the times at which the client sent
 * (cs) and received (cr), the server received (sr) and sent (ss), or a message was sent
 * (ms) and received (mr), each with the endpoint that recorded it.  A span can contain
 * both sides of a call.  Other annotations are events without a duration and are ignored;
 * binary annotations are tags.
 */
#ifndef SONDE_READ_SPAN_ZIPKIN_V1_H
#define SONDE_READ_SPAN_ZIPKIN_V1_H

#include "event/event.h"
#include "read/span/json_value.h"

/* One side of a call, or a span that is not a call. */
struct zipkin_side {
	enum span_kind kind;
	struct view service;
	int64_t start, end; /* ns since 1970; 0 if unknown */
};

/* The number of sides of a span, the client first; 0 if the span is not of version 1. */
size_t zipkin_v1_sides(yyjson_val *span, struct zipkin_side ret[2]);

/* Whether a binary annotation belongs to this side; those without endpoint belong to the first. */
bool zipkin_v1_is_tag(yyjson_val *annotation, const struct zipkin_side *side, bool is_first);

#endif
