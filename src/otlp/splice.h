/* SPDX-License-Identifier: Apache-2.0 */
/*
 * splice - insert attributes and spans into an encoded request.
 *
 * A relay must not lose what it does not understand: unknown fields, fields in an unusual order. So
 * the request is not decoded and encoded again.  Its bytes are copied as they are, with the new
 * ones between them; only the lengths of the messages around an insertion change.  Without inserts,
 * the result is the request.
 *
 * New spans of a resource are in a scope of their own after the other scopes of that resource.
 *
 * Time is linear in the size of the request and of the inserts.
 */
#ifndef SONDE_OTLP_SPLICE_H
#define SONDE_OTLP_SPLICE_H

#include "otlp/protobuf.h"

struct otlp_insert {
	size_t span;            /* otlp_span_offset() of an existing span */
	struct view attributes; /* encoded Span.attributes, appended to that span */
	struct view spans;      /* encoded ScopeSpans.spans, put into the same resource */
};

struct otlp_inserts {
	const struct otlp_insert *items; /* in the order of their spans */
	size_t count;
	struct view scope; /* encoded InstrumentationScope of the new spans */
};

/* Appends the request with the inserts to *ret. */
void otlp_splice(struct view request, const struct otlp_inserts *inserts, struct pb_buffer *ret);

#endif
