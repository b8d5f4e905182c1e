/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of the fields are those of opentelemetry-proto (trace.proto,
 * resource.proto, common.proto).  A span is gone through once, to find what is
 * told once; its lists are only noted then, from their first item to their last,
 * and gone through again by whoever wants them.  That is cheap, since an item is
 * passed over by its length.
 */
#include "otlp/trace.h"

#include <assert.h>

#define BYTES(number) WIRE_TAG(number, WIRE_BYTES)
#define VARINT(number) WIRE_TAG(number, WIRE_VARINT)
#define FIXED64(number) WIRE_TAG(number, WIRE_FIXED64)
#define FIXED32(number) WIRE_TAG(number, WIRE_FIXED32)

enum { REQUEST_RESOURCE_SPANS = 1 };
enum { RESOURCE_SPANS_RESOURCE = 1, RESOURCE_SPANS_SCOPE_SPANS = 2 };
enum { SCOPE_SPANS_SCOPE = 1, SCOPE_SPANS_SPANS = 2 };
enum { ANY_SPANS_SCHEMA_URL = 3 }; /* of both */
enum { RESOURCE_ATTRIBUTES = 1, RESOURCE_DROPPED = 2 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2, SCOPE_ATTRIBUTES = 3, SCOPE_DROPPED = 4 };
enum { STATUS_MESSAGE = 2, STATUS_CODE = 3 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum { LIST_VALUES = 1 }; /* of ArrayValue and KeyValueList */
enum {
	SPAN_TRACE_ID = 1,
	SPAN_SPAN_ID = 2,
	SPAN_TRACE_STATE = 3,
	SPAN_PARENT_SPAN_ID = 4,
	SPAN_NAME = 5,
	SPAN_KIND = 6,
	SPAN_START = 7,
	SPAN_END = 8,
	SPAN_ATTRIBUTES = 9,
	SPAN_DROPPED_ATTRIBUTES = 10,
	SPAN_EVENTS = 11,
	SPAN_DROPPED_EVENTS = 12,
	SPAN_LINKS = 13,
	SPAN_DROPPED_LINKS = 14,
	SPAN_STATUS = 15,
	SPAN_FLAGS = 16,
};

static const struct view no_bytes = { "", 0 };

/* An empty list, to which note_item() may add. */
static struct otlp_list no_items(uint32_t number)
{
	return (struct otlp_list){ .tag = BYTES(number) };
}

/* The first item is from `from` up to where the cursor is now; later ones just make it longer. */
static inline void note_item(struct otlp_list *list, const uint8_t *from, const struct wire *now)
{
	if (!list->rest.at)
		list->rest.at = from;
	list->rest.end = now->at;
}

int otlp_list_next(struct otlp_list *list, struct view *ret)
{
	struct wire_field f;
	int r;

	while ((r = wire_next(&list->rest, &f)) > 0)
		if (f.tag == list->tag) {
			*ret = f.bytes;
			return 1;
		}
	return r;
}

int otlp_attribute_next(struct otlp_list *list, struct otlp_attribute *ret)
{
	struct otlp_list before = *list;
	struct view bytes;
	struct wire_field f;
	int r = otlp_list_next(list, &bytes);

	if (r <= 0)
		return r;

	struct wire wire = wire_of(bytes);

	*ret = (struct otlp_attribute){ no_bytes, no_bytes };
	while ((r = wire_next(&wire, &f)) > 0)
		if (f.tag == BYTES(KEY_VALUE_KEY))
			ret->key = f.bytes;
		else if (f.tag == BYTES(KEY_VALUE_VALUE))
			ret->value = f.bytes;
	if (r < 0)
		*list = before;
	return r < 0 ? r : 1;
}

int otlp_value_read(struct view bytes, struct otlp_value *ret)
{
	struct otlp_value value = { 0 };
	struct wire wire = wire_of(bytes);
	struct wire_field f;
	int r;

	while ((r = wire_next(&wire, &f)) > 0)
		switch (f.tag) {
		case BYTES(OTLP_STRING):
		case BYTES(OTLP_ARRAY):
		case BYTES(OTLP_MAP):
		case BYTES(OTLP_BYTES):
			value = (struct otlp_value){ f.tag >> 3, .text = f.bytes };
			break;
		case VARINT(OTLP_BOOL):
			value = (struct otlp_value){ OTLP_BOOL, .truth = f.number != 0 };
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
	return (struct otlp_list){ wire_of(value->text), BYTES(LIST_VALUES) };
}

void otlp_reader_init(struct otlp_reader *reader, struct view request)
{
	*reader = (struct otlp_reader){ .resource_list = { wire_of(request),
							   BYTES(REQUEST_RESOURCE_SPANS) } };
}

static int damaged(struct otlp_reader *reader, const uint8_t *at, const char *message)
{
	reader->damage = at;
	reader->expected = message;
	return -EBADMSG;
}

/* As wire_next(), but says what was expected. */
static inline int next_field(struct otlp_reader *reader, struct wire *wire, struct wire_field *ret,
			     const char *message)
{
	int r = wire_next(wire, ret);

	return r < 0 ? damaged(reader, wire->at, message) : r;
}

static int next_item(struct otlp_reader *reader, struct otlp_list *list, struct view *ret,
		     const char *message)
{
	int r = otlp_list_next(list, ret);

	return r < 0 ? damaged(reader, list->rest.at, message) : r;
}

static int read_resource(struct otlp_reader *reader, struct view bytes, struct otlp_resource *ret)
{
	struct wire wire = wire_of(bytes);
	struct wire_field f;
	int r;

	ret->attributes = no_items(RESOURCE_ATTRIBUTES);
	ret->dropped_attributes = 0;
	for (const uint8_t *from = wire.at; (r = next_field(reader, &wire, &f, "Resource")) > 0;
	     from = wire.at)
		if (f.tag == BYTES(RESOURCE_ATTRIBUTES))
			note_item(&ret->attributes, from, &wire);
		else if (f.tag == VARINT(RESOURCE_DROPPED))
			ret->dropped_attributes = f.number;
	return r;
}

int otlp_read_resource(struct otlp_reader *reader, struct otlp_resource *ret)
{
	struct wire wire = wire_of(reader->resource);
	struct wire_field f;
	int r;

	*ret = (struct otlp_resource){ no_bytes, no_items(RESOURCE_ATTRIBUTES), 0 };
	while ((r = next_field(reader, &wire, &f, "ResourceSpans")) > 0) {
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
	struct wire wire = wire_of(bytes);
	struct wire_field f;
	int r;

	ret->name = ret->version = no_bytes;
	ret->attributes = no_items(SCOPE_ATTRIBUTES);
	ret->dropped_attributes = 0;
	for (const uint8_t *from = wire.at;
	     (r = next_field(reader, &wire, &f, "InstrumentationScope")) > 0; from = wire.at)
		switch (f.tag) {
		case BYTES(SCOPE_NAME):
			ret->name = f.bytes;
			break;
		case BYTES(SCOPE_VERSION):
			ret->version = f.bytes;
			break;
		case BYTES(SCOPE_ATTRIBUTES):
			note_item(&ret->attributes, from, &wire);
			break;
		case VARINT(SCOPE_DROPPED):
			ret->dropped_attributes = f.number;
			break;
		}
	return r;
}

int otlp_read_scope(struct otlp_reader *reader, struct otlp_scope *ret)
{
	struct wire wire = wire_of(reader->scope);
	struct wire_field f;
	int r;

	*ret = (struct otlp_scope){ .schema_url = no_bytes,
				    .name = no_bytes,
				    .version = no_bytes,
				    .attributes = no_items(SCOPE_ATTRIBUTES) };
	while ((r = next_field(reader, &wire, &f, "ScopeSpans")) > 0) {
		if (f.tag == BYTES(SCOPE_SPANS_SCOPE))
			r = read_scope(reader, f.bytes, ret);
		else if (f.tag == BYTES(ANY_SPANS_SCHEMA_URL))
			ret->schema_url = f.bytes;
		if (r < 0)
			return r;
	}
	return r;
}

/* 1, 0 if there is no other, or -EBADMSG. */
static int enter_resource(struct otlp_reader *reader)
{
	int r = next_item(reader, &reader->resource_list, &reader->resource,
			  "ExportTraceServiceRequest");

	if (r > 0) {
		reader->resources++;
		reader->scope_list = (struct otlp_list){ wire_of(reader->resource),
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
			(struct otlp_list){ wire_of(reader->scope), BYTES(SCOPE_SPANS_SPANS) };
	}
	return r;
}

static int read_status(struct otlp_reader *reader, struct view bytes, struct otlp_span *ret)
{
	struct wire wire = wire_of(bytes);
	struct wire_field f;
	int r;

	while ((r = next_field(reader, &wire, &f, "Status")) > 0)
		if (f.tag == BYTES(STATUS_MESSAGE))
			ret->status_message = f.bytes;
		else if (f.tag == VARINT(STATUS_CODE))
			ret->status = f.number;
	return r;
}

/* What hardly any span has, so that the rest is quick. */
static int read_rare(struct otlp_reader *reader, const struct wire_field *f, struct otlp_span *ret)
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

static int read_field(struct otlp_reader *reader, const struct wire_field *f, const uint8_t *from,
		      const struct wire *now, struct otlp_span *ret)
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
		return read_rare(reader, f, ret);
	}
	return 0;
}

static int read_span(struct otlp_reader *reader, struct view bytes, struct otlp_span *ret)
{
	struct wire wire = wire_of(bytes);
	struct wire_field f;
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
	for (const uint8_t *from = wire.at; (r = next_field(reader, &wire, &f, "Span")) > 0;
	     from = wire.at) {
		r = read_field(reader, &f, from, &wire, ret);
		if (r < 0)
			return r;
	}
	return r;
}

int otlp_next(struct otlp_reader *reader, struct otlp_span *ret)
{
	struct view bytes;
	int r;

	while ((r = next_item(reader, &reader->span_list, &bytes, "ScopeSpans")) == 0) {
		while ((r = enter_scope(reader)) == 0) {
			r = enter_resource(reader);
			if (r <= 0)
				return r;
		}
		if (r < 0)
			return r;
	}
	if (r > 0)
		r = read_span(reader, bytes, ret);
	return r < 0 ? r : 1;
}

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
