/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/slow_spans.h"

/* The resource of the last span, decoded once. */
struct current_resource {
	uint64_t number; /* of the reader */
	struct otlp_resource resource;
	struct view service; /* its name; empty if it has none */
	bool is_written;
};

void slow_spans_done(struct slow_spans *spans)
{
	vec_done(&spans->offsets);
	vec_done(&spans->limits);
	otlp_writer_done(&spans->request);
}

static struct view service_of(struct otlp_list attributes)
{
	struct otlp_attribute attribute;
	struct otlp_value value;

	while (otlp_attribute_next(&attributes, &attribute) > 0)
		if (view_is(attribute.key, "service.name") &&
		    otlp_value_read(attribute.value, &value) == 0 && value.type == OTLP_STRING)
			return value.text;
	return (struct view){ "", 0 };
}

static void update(struct current_resource *current, struct otlp_reader *reader)
{
	if (current->number == reader->resources)
		return;
	*current = (struct current_resource){ .number = reader->resources };
	if (otlp_read_resource(reader, &current->resource) < 0)
		current->resource = (struct otlp_resource){ 0 };
	current->service = service_of(current->resource.attributes);
}

static void put(struct otlp_writer *w, struct current_resource *current,
		const struct otlp_span *span)
{
	if (!current->is_written) {
		otlp_begin_resource(w, &current->resource);
		otlp_put_list(w, current->resource.attributes);
		otlp_begin_scope(w, &(struct otlp_scope){ 0 });
		current->is_written = true;
	}
	otlp_begin_span(w, span);
	otlp_put_list(w, span->attributes);
}

void slow_spans_find(struct view request, struct slow *slow, struct slow_spans *ret)
{
	struct current_resource current = { 0 };
	struct otlp_reader reader;
	struct otlp_span span;
	nsec_t limit;

	*ret = (struct slow_spans){ 0 };
	otlp_reader_init(&reader, request);
	while (otlp_next_span(&reader, &span) > 0) {
		update(&current, &reader);
		if (span.end <= span.start ||
		    !slow_exceeded(slow, current.service, span.name, span.end - span.start, &limit))
			continue;
		*vec_push(&ret->offsets) = otlp_span_offset(&reader);
		*vec_push(&ret->limits) = limit;
		put(&ret->request, &current, &span);
	}
}
