/* SPDX-License-Identifier: Apache-2.0 */
/* recode - read an OTLP request and write it again. */
#ifndef SONDE_TESTS_RECODE_H
#define SONDE_TESTS_RECODE_H

#include "otlp/trace.h"

static inline void recode_attributes(struct otlp_writer *w, struct otlp_list list)
{
	struct otlp_attribute a;
	struct otlp_value value;

	while (otlp_attribute_next(&list, &a) > 0 && otlp_value_read(a.value, &value) == 0)
		otlp_put_attribute(w, a.key, &value);
}

/* The request without resources and scopes that have no spans; valid as long as w. */
static inline struct view recode(struct otlp_writer *w, struct view bytes)
{
	struct otlp_reader reader;
	struct otlp_resource resource;
	struct otlp_scope scope;
	struct otlp_span span;
	uint64_t resources = 0, scopes = 0;

	otlp_reader_init(&reader, bytes);
	while (otlp_next_span(&reader, &span) > 0) {
		if (reader.resources != resources && !otlp_read_resource(&reader, &resource)) {
			otlp_begin_resource(w, &resource);
			recode_attributes(w, resource.attributes);
		}
		if (reader.scopes != scopes && !otlp_read_scope(&reader, &scope)) {
			otlp_begin_scope(w, &scope);
			recode_attributes(w, scope.attributes);
		}
		resources = reader.resources;
		scopes = reader.scopes;
		otlp_begin_span(w, &span);
		recode_attributes(w, span.attributes);
		otlp_put_list(w, span.events);
		otlp_put_list(w, span.links);
	}
	return otlp_end(w);
}

#endif
