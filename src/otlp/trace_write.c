/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing.  A resource, a scope and a span are messages in each other, and so
 * is what belongs to each of them: the writer keeps where those that are open
 * begin, and closes them when something begins beside or above.
 */
#include "otlp/trace.h"

#include <assert.h>

#include "otlp/trace_fields.h"

void otlp_writer_done(struct otlp_writer *w)
{
	wire_out_done(&w->out);
	*w = (struct otlp_writer){ 0 };
}

static void begin(struct otlp_writer *w, uint32_t number)
{
	w->begins[w->depth++] = wire_begin(&w->out, number);
}

static void end_down_to(struct otlp_writer *w, unsigned depth)
{
	assert(w->depth >= depth);
	while (w->depth > depth)
		wire_end(&w->out, w->begins[--w->depth]);
}

void otlp_begin_resource(struct otlp_writer *w, const struct otlp_resource *resource)
{
	end_down_to(w, 0);
	begin(w, REQUEST_RESOURCE_SPANS);
	wire_put_bytes(&w->out, ANY_SPANS_SCHEMA_URL, resource->schema_url);
	begin(w, RESOURCE_SPANS_RESOURCE);
	wire_put_varint(&w->out, RESOURCE_DROPPED, resource->dropped_attributes);
	w->attributes = RESOURCE_ATTRIBUTES;
}

void otlp_begin_scope(struct otlp_writer *w, const struct otlp_scope *scope)
{
	end_down_to(w, 1);
	begin(w, RESOURCE_SPANS_SCOPE_SPANS);
	wire_put_bytes(&w->out, ANY_SPANS_SCHEMA_URL, scope->schema_url);
	begin(w, SCOPE_SPANS_SCOPE);
	wire_put_bytes(&w->out, SCOPE_NAME, scope->name);
	wire_put_bytes(&w->out, SCOPE_VERSION, scope->version);
	wire_put_varint(&w->out, SCOPE_DROPPED, scope->dropped_attributes);
	w->attributes = SCOPE_ATTRIBUTES;
}

void otlp_begin_span(struct otlp_writer *w, const struct otlp_span *span)
{
	struct wire_out *out = &w->out;

	assert(w->attributes == SCOPE_ATTRIBUTES || w->attributes == SPAN_ATTRIBUTES);
	end_down_to(w, 2);
	begin(w, SCOPE_SPANS_SPANS);
	w->attributes = SPAN_ATTRIBUTES;
	wire_put_bytes(out, SPAN_TRACE_ID, span->trace_id);
	wire_put_bytes(out, SPAN_SPAN_ID, span->span_id);
	wire_put_bytes(out, SPAN_TRACE_STATE, span->trace_state);
	wire_put_bytes(out, SPAN_PARENT_SPAN_ID, span->parent_span_id);
	wire_put_bytes(out, SPAN_NAME, span->name);
	wire_put_varint(out, SPAN_KIND, span->kind);
	wire_put_fixed64(out, SPAN_START, span->start);
	wire_put_fixed64(out, SPAN_END, span->end);
	wire_put_varint(out, SPAN_DROPPED_ATTRIBUTES, span->dropped_attributes);
	wire_put_varint(out, SPAN_DROPPED_EVENTS, span->dropped_events);
	wire_put_varint(out, SPAN_DROPPED_LINKS, span->dropped_links);
	wire_put_fixed32(out, SPAN_FLAGS, span->flags);
	if (span->has_status || span->status || span->status_message.len) {
		size_t status = wire_begin(out, SPAN_STATUS);

		wire_put_bytes(out, STATUS_MESSAGE, span->status_message);
		wire_put_varint(out, STATUS_CODE, span->status);
		wire_end(out, status);
	}
}

/* Which one of its kinds a value is shows from the field that is there, so zeros are written. */
static void put_value(struct wire_out *out, const struct otlp_value *value)
{
	struct wire_field f = { .tag = BYTES(value->type), .bytes = value->text };

	if (value->type == OTLP_BOOL)
		f = (struct wire_field){ .tag = VARINT(OTLP_BOOL), .number = value->truth };
	else if (value->type == OTLP_INT)
		f = (struct wire_field){ .tag = VARINT(OTLP_INT), .number = value->number };
	else if (value->type == OTLP_DOUBLE) {
		f.tag = FIXED64(OTLP_DOUBLE);
		memcpy(&f.number, &value->real, sizeof(f.number));
	}
	if (value->type != OTLP_EMPTY)
		wire_put_field(out, &f);
}

void otlp_put_attribute(struct otlp_writer *w, struct view key, const struct otlp_value *value)
{
	size_t attribute = wire_begin(&w->out, w->attributes);

	wire_put_bytes(&w->out, KEY_VALUE_KEY, key);

	size_t any = wire_begin(&w->out, KEY_VALUE_VALUE);

	put_value(&w->out, value);
	wire_end(&w->out, any);
	wire_end(&w->out, attribute);
}

void otlp_put_list(struct otlp_writer *w, struct otlp_list list)
{
	struct wire_field f = { .tag = list.tag };

	while (otlp_list_next(&list, &f.bytes) > 0)
		wire_put_field(&w->out, &f);
}

struct view otlp_end(struct otlp_writer *w)
{
	end_down_to(w, 0);
	return (struct view){ w->out.data ? (const char *)w->out.data : "", w->out.size };
}
