/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading.  One pass over a span decodes its scalar fields and notes the extent of its
 * lists, from the first to the last item.  Callers that need a list iterate over that
 * extent again, which is cheap since other fields are skipped by their length.
 */
#include "otlp/trace.h"

#include <assert.h>

#include "otlp/trace_fields.h"

static const struct view no_bytes = { "", 0 };

/* An empty list, for note_item(). */
static struct otlp_list no_items(uint32_t number)
{
	return (struct otlp_list){ .tag = BYTES(number) };
}

/* Extends the list to the field between `from` and the cursor. */
static inline void note_item(struct otlp_list *list, const uint8_t *from,
			     const struct pb_reader *now)
{
	if (!list->rest.at)
		list->rest.at = from;
	list->rest.end = now->at;
}

int otlp_list_next(struct otlp_list *list, struct view *ret)
{
	struct pb_field f;
	int r;

	while ((r = pb_next(&list->rest, &f)) > 0)
		if (f.tag == list->tag) {
			*ret = f.bytes;
			return 1;
		}
	return r;
}

int otlp_attribute_read(struct view bytes, struct otlp_attribute *ret)
{
	struct pb_reader pb = pb_reader_of(bytes);
	struct pb_field f;
	int r;

	*ret = (struct otlp_attribute){ no_bytes, no_bytes };
	while ((r = pb_next(&pb, &f)) > 0)
		if (f.tag == BYTES(KEY_VALUE_KEY))
			ret->key = f.bytes;
		else if (f.tag == BYTES(KEY_VALUE_VALUE))
			ret->value = f.bytes;
	return r;
}

int otlp_attribute_next(struct otlp_list *list, struct otlp_attribute *ret)
{
	struct otlp_list before = *list;
	struct view bytes;
	int r = otlp_list_next(list, &bytes);

	if (r <= 0)
		return r;
	r = otlp_attribute_read(bytes, ret);
	if (r < 0)
		*list = before;
	return r < 0 ? r : 1;
}

int otlp_value_read(struct view bytes, struct otlp_value *ret)
{
	struct otlp_value value = { 0 };
	struct pb_reader pb = pb_reader_of(bytes);
	struct pb_field f;
	int r;

	while ((r = pb_next(&pb, &f)) > 0)
		switch (f.tag) {
		case BYTES(OTLP_STRING):
		case BYTES(OTLP_ARRAY):
		case BYTES(OTLP_MAP):
		case BYTES(OTLP_BYTES):
			value = (struct otlp_value){ f.tag >> 3, .text = f.bytes };
			break;
		case VARINT(OTLP_BOOL):
			value = (struct otlp_value){ OTLP_BOOL, .boolean = f.number != 0 };
			break;
		case VARINT(OTLP_INT):
			value = (struct otlp_value){ OTLP_INT, .number = f.number };
			break;
		case FIXED64(OTLP_DOUBLE):
			value.type = OTLP_DOUBLE;
			memcpy(&value.real, &f.number, sizeof(value.real));
			break;
		}
	if (r == 0)
		*ret = value;
	return r;
}

struct otlp_list otlp_value_items(const struct otlp_value *value)
{
	assert(value->type == OTLP_ARRAY || value->type == OTLP_MAP);
	return (struct otlp_list){ pb_reader_of(value->text), BYTES(LIST_VALUES) };
}

void otlp_reader_init(struct otlp_reader *reader, struct view request)
{
	*reader = (struct otlp_reader){
		.request = request.s,
		.resource_list = { pb_reader_of(request), BYTES(REQUEST_RESOURCE_SPANS) },
	};
}

static int damaged(struct otlp_reader *reader, const uint8_t *at, const char *message)
{
	reader->damage = at;
	reader->expected = message;
	return -EBADMSG;
}

/* As pb_next(), but sets the position and message of a failure. */
static inline int next_field(struct otlp_reader *reader, struct pb_reader *pb, struct pb_field *ret,
			     const char *message)
{
	int r = pb_next(pb, ret);

	return r < 0 ? damaged(reader, pb->at, message) : r;
}

static int next_item(struct otlp_reader *reader, struct otlp_list *list, struct view *ret,
		     const char *message)
{
	int r = otlp_list_next(list, ret);

	return r < 0 ? damaged(reader, list->rest.at, message) : r;
}

static int read_resource(struct otlp_reader *reader, struct view bytes, struct otlp_resource *ret)
{
	struct pb_reader pb = pb_reader_of(bytes);
	struct pb_field f;
	int r;

	ret->attributes = no_items(RESOURCE_ATTRIBUTES);
	ret->dropped_attributes = 0;
	for (const uint8_t *from = pb.at; (r = next_field(reader, &pb, &f, "Resource")) > 0;
	     from = pb.at)
		if (f.tag == BYTES(RESOURCE_ATTRIBUTES))
			note_item(&ret->attributes, from, &pb);
		else if (f.tag == VARINT(RESOURCE_DROPPED))
			ret->dropped_attributes = f.number;
	return r;
}

int otlp_read_resource(struct otlp_reader *reader, struct otlp_resource *ret)
{
	struct pb_reader pb = pb_reader_of(reader->resource);
	struct pb_field f;
	int r;

	*ret = (struct otlp_resource){ no_bytes, no_items(RESOURCE_ATTRIBUTES), 0 };
	while ((r = next_field(reader, &pb, &f, "ResourceSpans")) > 0) {
		if (f.tag == BYTES(RESOURCE_SPANS_RESOURCE))
			r = read_resource(reader, f.bytes, ret);
		else if (f.tag == BYTES(ANY_SPANS_SCHEMA_URL))
			ret->schema_url = f.bytes;
		if (r < 0)
			return r;
	}
	return r;
}

static int read_scope(struct otlp_reader *reader, struct view bytes, struct otlp_scope *ret)
{
	struct pb_reader pb = pb_reader_of(bytes);
	struct pb_field f;
	int r;

	ret->name = ret->version = no_bytes;
	ret->attributes = no_items(SCOPE_ATTRIBUTES);
	ret->dropped_attributes = 0;
	for (const uint8_t *from = pb.at;
	     (r = next_field(reader, &pb, &f, "InstrumentationScope")) > 0; from = pb.at)
		switch (f.tag) {
		case BYTES(SCOPE_NAME):
			ret->name = f.bytes;
			break;
		case BYTES(SCOPE_VERSION):
			ret->version = f.bytes;
			break;
		case BYTES(SCOPE_ATTRIBUTES):
			note_item(&ret->attributes, from, &pb);
			break;
		case VARINT(SCOPE_DROPPED):
			ret->dropped_attributes = f.number;
			break;
		}
	return r;
}

int otlp_read_scope(struct otlp_reader *reader, struct otlp_scope *ret)
{
	struct pb_reader pb = pb_reader_of(reader->scope);
	struct pb_field f;
	int r;

	*ret = (struct otlp_scope){ .schema_url = no_bytes,
				    .name = no_bytes,
				    .version = no_bytes,
				    .attributes = no_items(SCOPE_ATTRIBUTES) };
	while ((r = next_field(reader, &pb, &f, "ScopeSpans")) > 0) {
		if (f.tag == BYTES(SCOPE_SPANS_SCOPE))
			r = read_scope(reader, f.bytes, ret);
		else if (f.tag == BYTES(ANY_SPANS_SCHEMA_URL))
			ret->schema_url = f.bytes;
		if (r < 0)
			return r;
	}
	return r;
}

/* 1, 0 after the last, or -EBADMSG. */
static int enter_resource(struct otlp_reader *reader)
{
	int r = next_item(reader, &reader->resource_list, &reader->resource,
			  "ExportTraceServiceRequest");

	if (r > 0) {
		reader->resources++;
		reader->scope_list = (struct otlp_list){ pb_reader_of(reader->resource),
							 BYTES(RESOURCE_SPANS_SCOPE_SPANS) };
	}
	return r;
}

static int enter_scope(struct otlp_reader *reader)
{
	int r = next_item(reader, &reader->scope_list, &reader->scope, "ResourceSpans");

	if (r > 0) {
		reader->scopes++;
		reader->span_list =
			(struct otlp_list){ pb_reader_of(reader->scope), BYTES(SCOPE_SPANS_SPANS) };
	}
	return r;
}

static int read_status(struct otlp_reader *reader, struct view bytes, struct otlp_span *ret)
{
	struct pb_reader pb = pb_reader_of(bytes);
	struct pb_field f;
	int r;

	while ((r = next_field(reader, &pb, &f, "Status")) > 0)
		if (f.tag == BYTES(STATUS_MESSAGE))
			ret->status_message = f.bytes;
		else if (f.tag == VARINT(STATUS_CODE))
			ret->status = f.number;
	return r;
}

/* Fields that few spans have; separate to keep read_field() fast. */
static int read_rare_field(struct otlp_reader *reader, const struct pb_field *f,
			   struct otlp_span *ret)
{
	switch (f->tag) {
	case BYTES(SPAN_TRACE_STATE):
		ret->trace_state = f->bytes;
		break;
	case VARINT(SPAN_DROPPED_ATTRIBUTES):
		ret->dropped_attributes = f->number;
		break;
	case VARINT(SPAN_DROPPED_EVENTS):
		ret->dropped_events = f->number;
		break;
	case VARINT(SPAN_DROPPED_LINKS):
		ret->dropped_links = f->number;
		break;
	case BYTES(SPAN_STATUS):
		ret->has_status = true;
		return read_status(reader, f->bytes, ret);
	case FIXED32(SPAN_FLAGS):
		ret->flags = f->number;
		break;
	}
	return 0;
}

static int read_field(struct otlp_reader *reader, const struct pb_field *f, const uint8_t *from,
		      const struct pb_reader *now, struct otlp_span *ret)
{
	switch (f->tag) {
	case BYTES(SPAN_TRACE_ID):
		ret->trace_id = f->bytes;
		break;
	case BYTES(SPAN_SPAN_ID):
		ret->span_id = f->bytes;
		break;
	case BYTES(SPAN_PARENT_SPAN_ID):
		ret->parent_span_id = f->bytes;
		break;
	case BYTES(SPAN_NAME):
		ret->name = f->bytes;
		break;
	case VARINT(SPAN_KIND):
		ret->kind = f->number;
		break;
	case FIXED64(SPAN_START):
		ret->start = f->number;
		break;
	case FIXED64(SPAN_END):
		ret->end = f->number;
		break;
	case BYTES(SPAN_ATTRIBUTES):
		note_item(&ret->attributes, from, now);
		break;
	case BYTES(SPAN_EVENTS):
		note_item(&ret->events, from, now);
		break;
	case BYTES(SPAN_LINKS):
		note_item(&ret->links, from, now);
		break;
	default:
		return read_rare_field(reader, f, ret);
	}
	return 0;
}

static int read_span(struct otlp_reader *reader, struct view bytes, struct otlp_span *ret)
{
	struct pb_reader pb = pb_reader_of(bytes);
	struct pb_field f;
	int r;

	*ret = (struct otlp_span){ .trace_id = no_bytes,
				   .span_id = no_bytes,
				   .parent_span_id = no_bytes,
				   .trace_state = no_bytes,
				   .name = no_bytes,
				   .status_message = no_bytes,
				   .attributes = no_items(SPAN_ATTRIBUTES),
				   .events = no_items(SPAN_EVENTS),
				   .links = no_items(SPAN_LINKS) };
	for (const uint8_t *from = pb.at; (r = next_field(reader, &pb, &f, "Span")) > 0;
	     from = pb.at) {
		r = read_field(reader, &f, from, &pb, ret);
		if (r < 0)
			return r;
	}
	return r;
}

int otlp_next_span(struct otlp_reader *reader, struct otlp_span *ret)
{
	int r;

	while ((r = next_item(reader, &reader->span_list, &reader->span, "ScopeSpans")) == 0) {
		while ((r = enter_scope(reader)) == 0) {
			r = enter_resource(reader);
			if (r <= 0)
				return r;
		}
		if (r < 0)
			return r;
	}
	if (r > 0)
		r = read_span(reader, reader->span, ret);
	return r < 0 ? r : 1;
}

size_t otlp_span_offset(const struct otlp_reader *reader)
{
	return reader->span.s - reader->request;
}
