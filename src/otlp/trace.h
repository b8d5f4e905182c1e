/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace - OTLP's messages for spans, read and written.
 *
 *	struct otlp_reader reader;
 *	struct otlp_span span;
 *	int r;
 *
 *	otlp_reader_init(&reader, bytes);
 *	while ((r = otlp_next_span(&reader, &span)) > 0) {
 *		if (reader.resources != before)
 *			r = otlp_read_resource(&reader, &resource);
 *		...
 *	}
 *
 * A request (ExportTraceServiceRequest, or TracesData, which has the same encoding)
 * contains resources, which contain scopes, which contain spans.  The reader iterates
 * over the spans; it decodes the resource or scope of a span only on demand, since
 * they can follow the span.  Nothing is copied: texts and lists are views of the
 * request.
 *
 * Fields can be in any order.  If a field occurs twice, the last one counts; encoders
 * do not write such messages.  Texts can contain any bytes and ids have any length:
 * the caller validates them.
 */
#ifndef SONDE_OTLP_TRACE_H
#define SONDE_OTLP_TRACE_H

#include "otlp/protobuf.h"

enum otlp_kind {
	OTLP_KIND_UNSPECIFIED = 0,
	OTLP_KIND_INTERNAL = 1,
	OTLP_KIND_SERVER = 2,
	OTLP_KIND_CLIENT = 3,
	OTLP_KIND_PRODUCER = 4,
	OTLP_KIND_CONSUMER = 5,
};

enum otlp_status {
	OTLP_STATUS_UNSET = 0,
	OTLP_STATUS_OK = 1,
	OTLP_STATUS_ERROR = 2,
};

/* A cursor over all fields of a message with one tag, each a message itself. */
struct otlp_list {
	struct pb_reader rest;
	uint32_t tag;
};

/* Returns 1, 0 at the end, or -EBADMSG with list->rest.at at the invalid field. */
int otlp_list_next(struct otlp_list *list, struct view *ret);

struct otlp_attribute {
	struct view key;
	struct view value; /* encoded; see otlp_value_read() */
};

int otlp_attribute_next(struct otlp_list *list, struct otlp_attribute *ret);

/* Decodes an item of otlp_list_next(): 0 or -EBADMSG. */
int otlp_attribute_read(struct view bytes, struct otlp_attribute *ret);

/* The field numbers of AnyValue. */
enum otlp_type {
	OTLP_EMPTY = 0,
	OTLP_STRING = 1,
	OTLP_BOOL = 2,
	OTLP_INT = 3,
	OTLP_DOUBLE = 4,
	OTLP_ARRAY = 5,
	OTLP_MAP = 6,
	OTLP_BYTES = 7,
};

struct otlp_value {
	enum otlp_type type;
	union {
		struct view text; /* STRING and BYTES; ARRAY and MAP: see otlp_value_items() */
		bool boolean;
		int64_t number;
		double real;
	};
};

/* 0 or -EBADMSG. */
int otlp_value_read(struct view bytes, struct otlp_value *ret);

/* The items of an ARRAY, for otlp_value_read(), or of a MAP, for otlp_attribute_next(). */
struct otlp_list otlp_value_items(const struct otlp_value *value);

struct otlp_resource {
	struct view schema_url;
	struct otlp_list attributes;
	uint32_t dropped_attributes;
};

struct otlp_scope {
	struct view schema_url, name, version;
	struct otlp_list attributes;
	uint32_t dropped_attributes;
};

struct otlp_span {
	struct view trace_id, span_id, parent_span_id; /* bytes: 16, 8, 8 or none */
	struct view trace_state, name, status_message;
	uint64_t start, end;   /* CLOCK_REALTIME in ns */
	uint32_t kind, status; /* enum otlp_kind, enum otlp_status */
	bool has_status;       /* even if it is empty */
	uint32_t flags;
	uint32_t dropped_attributes, dropped_events, dropped_links;
	struct otlp_list attributes, events, links;
};

struct otlp_reader {
	/* Number of resources and scopes so far; callers detect a new one by comparing. */
	uint64_t resources, scopes;

	/* After a failure: its position, and the name of the message with the invalid field. */
	const uint8_t *damage;
	const char *expected;

	/* Private. */
	const char *request;                                   /* its first byte */
	struct view resource, scope, span;                     /* of the last span */
	struct otlp_list resource_list, scope_list, span_list; /* the rest of each level */
};

void otlp_reader_init(struct otlp_reader *reader, struct view request);

/* The next span: 1, 0 at the end, or -EBADMSG. */
int otlp_next_span(struct otlp_reader *reader, struct otlp_span *ret);

/* The offset in the request of the body of the last span, for otlp_splice(). */
size_t otlp_span_offset(const struct otlp_reader *reader);

/* The resource and the scope of the last span: 0 or -EBADMSG. */
int otlp_read_resource(struct otlp_reader *reader, struct otlp_resource *ret);
int otlp_read_scope(struct otlp_reader *reader, struct otlp_scope *ret);

/*
 * Writes a request.  Zero-initialised, it is empty.  Each begin ends everything begun
 * earlier on its own level and below:
 *
 *	struct otlp_writer w = { 0 };
 *
 *	otlp_begin_resource(&w, &resource);
 *	otlp_put_attribute(&w, key, &value);	an attribute of the resource
 *	otlp_begin_scope(&w, &scope);
 *	otlp_begin_span(&w, &span);
 *	otlp_put_list(&w, span.attributes);	attributes as they were read
 *	otlp_put_attribute(&w, key, &value);	one more
 *	bytes = otlp_end(&w);
 *
 * The lists of resource, scope and span are not written, so that the caller can change
 * them.
 */
struct otlp_writer {
	struct pb_buffer out;
	size_t begins[3];    /* offsets of the open messages */
	unsigned depth;      /* number of open messages */
	unsigned omitted;    /* number of these that are not written: only what is in them */
	uint32_t attributes; /* field number of the attributes in the last message begun */
};

void otlp_writer_done(struct otlp_writer *w);

void otlp_begin_resource(struct otlp_writer *w, const struct otlp_resource *resource);
void otlp_begin_scope(struct otlp_writer *w, const struct otlp_scope *scope);
void otlp_begin_span(struct otlp_writer *w, const struct otlp_span *span);
/*
 * Instead of a request, for insertion into one: only attributes of a span, or only spans of a
 * scope, each begun by otlp_begin_span().
 */
void otlp_begin_attributes(struct otlp_writer *w);
void otlp_begin_spans(struct otlp_writer *w);
void otlp_put_attribute(struct otlp_writer *w, struct view key, const struct otlp_value *value);
void otlp_put_list(struct otlp_writer *w, struct otlp_list list);
/* Adds what otlp_begin_attributes() or otlp_begin_spans() began elsewhere, at the same level. */
void otlp_put_attributes(struct otlp_writer *w, struct view attributes);
void otlp_put_spans(struct otlp_writer *w, struct view spans);

/* The whole request, valid until the next write. */
struct view otlp_end(struct otlp_writer *w);

#endif
