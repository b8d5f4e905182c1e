/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing.  Resources, scopes and spans are nested messages.  The writer keeps the
 * offsets of the open ones and closes them when a message on the same or a higher level
 * begins.
 */
#include "otlp/trace.h"

#include <assert.h>

#include "otlp/trace_fields.h"

void otlp_writer_done(struct otlp_writer *w)
{
	pb_buffer_done(&w->out);
	*w = (struct otlp_writer){ 0 };
}

static void begin(struct otlp_writer *w, uint32_t number)
{
	w->begins[w->depth++] = pb_begin_message(&w->out, number);
}

static void end_down_to(struct otlp_writer *w, unsigned depth)
{
	assert(w->depth >= depth);
	while (w->depth > depth && w->depth > w->omitted)
		pb_end_message(&w->out, w->begins[--w->depth]);
}

void otlp_begin_resource(struct otlp_writer *w, const struct otlp_resource *resource)
{
	end_down_to(w, 0);
	begin(w, REQUEST_RESOURCE_SPANS);
	pb_put_bytes(&w->out, ANY_SPANS_SCHEMA_URL, resource->schema_url);
	begin(w, RESOURCE_SPANS_RESOURCE);
	pb_put_varint(&w->out, RESOURCE_DROPPED, resource->dropped_attributes);
	w->attributes = RESOURCE_ATTRIBUTES;
}

void otlp_begin_scope(struct otlp_writer *w, const struct otlp_scope *scope)
{
	end_down_to(w, 1);
	begin(w, RESOURCE_SPANS_SCOPE_SPANS);
	pb_put_bytes(&w->out, ANY_SPANS_SCHEMA_URL, scope->schema_url);
	begin(w, SCOPE_SPANS_SCOPE);
	pb_put_bytes(&w->out, SCOPE_NAME, scope->name);
	pb_put_bytes(&w->out, SCOPE_VERSION, scope->version);
	pb_put_varint(&w->out, SCOPE_DROPPED, scope->dropped_attributes);
	w->attributes = SCOPE_ATTRIBUTES;
}

void otlp_begin_span(struct otlp_writer *w, const struct otlp_span *span)
{
	struct pb_buffer *out = &w->out;

	assert(w->attributes == SCOPE_ATTRIBUTES || w->attributes == SPAN_ATTRIBUTES);
	end_down_to(w, 2);
	begin(w, SCOPE_SPANS_SPANS);
	w->attributes = SPAN_ATTRIBUTES;
	pb_put_bytes(out, SPAN_TRACE_ID, span->trace_id);
	pb_put_bytes(out, SPAN_SPAN_ID, span->span_id);
	pb_put_bytes(out, SPAN_TRACE_STATE, span->trace_state);
	pb_put_bytes(out, SPAN_PARENT_SPAN_ID, span->parent_span_id);
	pb_put_bytes(out, SPAN_NAME, span->name);
	pb_put_varint(out, SPAN_KIND, span->kind);
	pb_put_fixed64(out, SPAN_START, span->start);
	pb_put_fixed64(out, SPAN_END, span->end);
	pb_put_varint(out, SPAN_DROPPED_ATTRIBUTES, span->dropped_attributes);
	pb_put_varint(out, SPAN_DROPPED_EVENTS, span->dropped_events);
	pb_put_varint(out, SPAN_DROPPED_LINKS, span->dropped_links);
	pb_put_fixed32(out, SPAN_FLAGS, span->flags);
	if (span->has_status || span->status || span->status_message.len) {
		size_t status = pb_begin_message(out, SPAN_STATUS);

		pb_put_bytes(out, STATUS_MESSAGE, span->status_message);
		pb_put_varint(out, STATUS_CODE, span->status);
		pb_end_message(out, status);
	}
}

void otlp_begin_attributes(struct otlp_writer *w)
{
	assert(w->depth == 0 && w->out.size == 0);
	w->attributes = SPAN_ATTRIBUTES;
}

void otlp_begin_spans(struct otlp_writer *w)
{
	assert(w->depth == 0 && w->out.size == 0);
	w->depth = w->omitted = 2;
	w->attributes = SCOPE_ATTRIBUTES;
}

/* The type of a value is the field that is present, so zeros are written, too. */
static void put_value(struct pb_buffer *out, const struct otlp_value *value)
{
	struct pb_field f = { .tag = BYTES(value->type), .bytes = value->text };

	if (value->type == OTLP_BOOL)
		f = (struct pb_field){ .tag = VARINT(OTLP_BOOL), .number = value->boolean };
	else if (value->type == OTLP_INT)
		f = (struct pb_field){ .tag = VARINT(OTLP_INT), .number = value->number };
	else if (value->type == OTLP_DOUBLE) {
		f.tag = FIXED64(OTLP_DOUBLE);
		memcpy(&f.number, &value->real, sizeof(f.number));
	}
	if (value->type != OTLP_EMPTY)
		pb_put_field(out, &f);
}

void otlp_put_attribute(struct otlp_writer *w, struct view key, const struct otlp_value *value)
{
	size_t attribute = pb_begin_message(&w->out, w->attributes);

	pb_put_bytes(&w->out, KEY_VALUE_KEY, key);

	size_t any = pb_begin_message(&w->out, KEY_VALUE_VALUE);

	put_value(&w->out, value);
	pb_end_message(&w->out, any);
	pb_end_message(&w->out, attribute);
}

void otlp_put_list(struct otlp_writer *w, struct otlp_list list)
{
	struct pb_field f = { .tag = list.tag };

	while (otlp_list_next(&list, &f.bytes) > 0)
		pb_put_field(&w->out, &f);
}

void otlp_put_attributes(struct otlp_writer *w, struct view attributes)
{
	assert(w->attributes == SPAN_ATTRIBUTES);
	pb_append(&w->out, attributes);
}

void otlp_put_spans(struct otlp_writer *w, struct view spans)
{
	end_down_to(w, 2);
	pb_append(&w->out, spans);
}

struct view otlp_end(struct otlp_writer *w)
{
	end_down_to(w, 0);
	return (struct view){ w->out.data ? (const char *)w->out.data : "", w->out.size };
}
