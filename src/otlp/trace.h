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
 * A request (ExportTraceServiceRequest, or TracesData, which is the same on the
 * wire) holds resources, these hold scopes, and these spans.  The reader goes
 * through the spans in a row; whose they are is read only when it is asked for,
 * as it may stand behind them.  Nothing is copied: texts and lists are views of
 * the request.
 *
 * Fields may stand in any order.  Of one that stands twice the last counts;
 * encoders do not write such messages.  Texts may hold anything, and ids may
 * have any length: what makes a span usable is for the caller to say.
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

/* All fields with one tag of a message, each a message itself; a cursor. */
struct otlp_list {
	struct pb_reader rest;
	uint32_t tag;
};

/* 1, 0 at the end, or -EBADMSG; then list->rest.at is where it is wrong. */
int otlp_list_next(struct otlp_list *list, struct view *ret);

struct otlp_attribute {
	struct view key;
	struct view value; /* for otlp_value_read(), if the key is of interest */
};

int otlp_attribute_next(struct otlp_list *list, struct otlp_attribute *ret);

/* An item that otlp_list_next() gave: 0 or -EBADMSG. */
int otlp_attribute_read(struct view bytes, struct otlp_attribute *ret);

/* The numbers are those of the fields. */
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

/* Of an ARRAY, values for otlp_value_read(); of a MAP, a list for otlp_attribute_next(). */
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
	bool has_status;       /* also if it says nothing */
	uint32_t flags;
	uint32_t dropped_attributes, dropped_events, dropped_links;
	struct otlp_list attributes, events, links;
};

struct otlp_reader {
	uint64_t resources, scopes; /* so far: who remembers them sees when they change */

	/* What failed: at this place, a field of this message was expected. */
	const uint8_t *damage;
	const char *expected;

	struct view resource, scope;                           /* those that are being read, */
	struct otlp_list resource_list, scope_list, span_list; /* and what is left of each */
};

void otlp_reader_init(struct otlp_reader *reader, struct view request);

/* The next span: 1, 0 at the end, or -EBADMSG. */
int otlp_next_span(struct otlp_reader *reader, struct otlp_span *ret);

/* What the last span belongs to: 0 or -EBADMSG. */
int otlp_read_resource(struct otlp_reader *reader, struct otlp_resource *ret);
int otlp_read_scope(struct otlp_reader *reader, struct otlp_scope *ret);

/*
 * Writes a request.  All zero is an empty one.  What begins ends what was begun
 * before on its own level and below:
 *
 *	struct otlp_writer w = { 0 };
 *
 *	otlp_begin_resource(&w, &resource);
 *	otlp_put_attribute(&w, key, &value);	to the resource
 *	otlp_begin_scope(&w, &scope);
 *	otlp_begin_span(&w, &span);
 *	otlp_put_list(&w, span.attributes);	as they were read
 *	otlp_put_attribute(&w, key, &value);	and one more
 *	bytes = otlp_end(&w);
 *
 * The lists in what is begun are not written, so that the caller may change them.
 */
struct otlp_writer {
	struct pb_buffer out;
	size_t begins[3];
	unsigned depth;
	uint32_t attributes; /* their field's number in what was begun last */
};

void otlp_writer_done(struct otlp_writer *w);

void otlp_begin_resource(struct otlp_writer *w, const struct otlp_resource *resource);
void otlp_begin_scope(struct otlp_writer *w, const struct otlp_scope *scope);
void otlp_begin_span(struct otlp_writer *w, const struct otlp_span *span);
void otlp_put_attribute(struct otlp_writer *w, struct view key, const struct otlp_value *value);
void otlp_put_list(struct otlp_writer *w, struct otlp_list list);

/* The whole request; it holds until more is written. */
struct view otlp_end(struct otlp_writer *w);

#endif
