/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp - export requests of OpenTelemetry in protobuf.
 *
 * A file contains one request, or several, each preceded by its length in four bytes,
 * big-endian, as the collector's file exporter writes them.  Neither has a magic number.
 * A request starts with a resource: nested messages with consistent lengths, down to the
 * name of an attribute or the ids of a span, which have 16 and 8 bytes.  Random bytes do
 * not have this structure, nor do metrics and logs, which start like traces but do not
 * contain spans.
 */
#include <stdio.h>

#include "otlp/trace.h"
#include "read/span/input.h"

enum { HEAD_SIZE = 4096, FRAME_SIZE = 4 };

/* The start of a message. */
struct peek {
	const uint8_t *at, *end; /* available bytes */
	uint64_t hidden;         /* number of bytes after them */
};

static uint64_t length_of(const struct peek *p)
{
	return p->end - p->at + p->hidden;
}

/* 1 with a field, 0 if the available bytes end, -EBADMSG if this is not a message. */
static int peek_next(struct peek *p, uint32_t *ret_tag, struct peek *ret)
{
	const uint8_t *at = p->at;
	uint64_t tag, size = 0;

	if (at == p->end)
		return 0;
	at = pb_varint(at, p->end, &tag);
	if (at && (tag & 7) != PB_FIXED64 && (tag & 7) != PB_FIXED32)
		at = pb_varint(at, p->end, &size); /* number or length */
	if (!at)
		return p->hidden ? 0 : -EBADMSG;
	if ((tag & 7) != PB_BYTES)
		size = (tag & 7) == PB_FIXED64 ? 8 : (tag & 7) == PB_FIXED32 ? 4 : 0;

	size_t available = p->end - at;

	if (tag > UINT32_MAX || (size > available && size - available > p->hidden))
		return -EBADMSG;
	available = size < available ? size : available;
	*ret = (struct peek){ at, at + available, size - available };
	*ret_tag = tag;
	p->at = at + available;
	p->hidden -= size - available;
	return 1;
}

static bool is_name(const struct peek *p)
{
	for (const uint8_t *at = p->at; at < p->end; at++)
		if (*at < ' ' || *at == 0x7f)
			return false;
	return p->end > p->at;
}

/* How well bytes match a request. */
enum match {
	MATCH_NONE = -1,
	MATCH_UNKNOWN, /* no evidence yet */
	MATCH_NAMES,   /* names of attributes */
	MATCH_SPANS,   /* ids of spans */
};

static enum match match_attributes(struct peek list)
{
	enum match match = MATCH_UNKNOWN;
	struct peek attribute, key;
	uint32_t tag;
	int r;

	while ((r = peek_next(&list, &tag, &attribute)) > 0) {
		if (tag != PB_TAG(1, PB_BYTES) && tag != PB_TAG(2, PB_VARINT) &&
		    tag != PB_TAG(3, PB_BYTES))
			return MATCH_NONE;
		if (tag != PB_TAG(1, PB_BYTES))
			continue;
		r = peek_next(&attribute, &tag, &key);
		if (r < 0 || (r > 0 && (tag != PB_TAG(1, PB_BYTES) || !is_name(&key))))
			return MATCH_NONE;
		if (r > 0)
			match = MATCH_NAMES;
	}
	return r < 0 ? MATCH_NONE : match;
}

static enum match match_span(struct peek span)
{
	struct peek trace_id, span_id;
	uint32_t tag;
	int r = peek_next(&span, &tag, &trace_id);

	if (r > 0 && (tag != PB_TAG(1, PB_BYTES) || length_of(&trace_id) != 16))
		return MATCH_NONE;
	if (r > 0)
		r = peek_next(&span, &tag, &span_id);
	if (r > 0 && (tag != PB_TAG(2, PB_BYTES) || length_of(&span_id) != 8))
		return MATCH_NONE;
	return r < 0 ? MATCH_NONE : r > 0 ? MATCH_SPANS : MATCH_UNKNOWN;
}

static enum match match_scope(struct peek scope)
{
	struct peek field;
	uint32_t tag;
	int r;

	while ((r = peek_next(&scope, &tag, &field)) > 0) {
		if (tag == PB_TAG(2, PB_BYTES))
			return match_span(field);
		if (tag != PB_TAG(1, PB_BYTES) && tag != PB_TAG(3, PB_BYTES))
			return MATCH_NONE;
	}
	return r < 0 ? MATCH_NONE : MATCH_UNKNOWN;
}

static enum match match_resource(struct peek resource)
{
	enum match match = MATCH_UNKNOWN;
	struct peek field;
	uint32_t tag;
	int r;

	while ((r = peek_next(&resource, &tag, &field)) > 0 && match != MATCH_SPANS) {
		enum match part = MATCH_UNKNOWN;

		if (tag == PB_TAG(1, PB_BYTES))
			part = match_attributes(field);
		else if (tag == PB_TAG(2, PB_BYTES))
			part = match_scope(field);
		else if (tag != PB_TAG(3, PB_BYTES))
			part = MATCH_NONE;
		if (part == MATCH_NONE)
			return MATCH_NONE;
		match = part > match ? part : match;
	}
	return r < 0 ? MATCH_NONE : match;
}

/* Whether these are the first bytes of a request with this many hidden bytes after them. */
static bool is_request(struct view bytes, uint64_t hidden)
{
	const uint8_t *at = (const uint8_t *)bytes.s;
	struct peek request = { at, at + bytes.len, hidden }, field;
	enum match match = MATCH_UNKNOWN;
	uint32_t tag;

	while (match == MATCH_UNKNOWN && peek_next(&request, &tag, &field) > 0)
		match = tag == PB_TAG(1, PB_BYTES) ? match_resource(field) : MATCH_NONE;
	return match > MATCH_UNKNOWN;
}

static uint32_t frame_length(struct view bytes)
{
	const uint8_t *b = (const uint8_t *)bytes.s;

	return (uint32_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
}

/* Whether these bytes start with a length and a request. */
static bool is_framed(struct view bytes, uint64_t hidden)
{
	if (bytes.len < FRAME_SIZE)
		return false;

	size_t length = frame_length(bytes), available = bytes.len - FRAME_SIZE;

	if (length > available && length - available > hidden)
		return false;
	available = length < available ? length : available;
	return is_request((struct view){ bytes.s + FRAME_SIZE, available }, length - available);
}

static bool is_otlp(const char *head, size_t size)
{
	struct view bytes = { head, size };
	uint64_t hidden = size < HEAD_SIZE ? 0 : INT64_MAX;

	return is_request(bytes, hidden) || is_framed(bytes, hidden);
}

struct otlp_file {
	struct span_input *in;
	struct view file;
	struct otlp_reader reader;
	struct span_owner owner;
	uint64_t owner_resource; /* number of the resource that the owner was read from */
};

static int damaged(const struct otlp_file *r, const uint8_t *at, const char *message,
		   struct err *err)
{
	return err_set(err, -EBADMSG, "'%s' is damaged: invalid field of %s at offset %zu",
		       r->in->name, message, (size_t)(at - (const uint8_t *)r->file.s));
}

static int read_attribute(const struct otlp_file *r, struct view bytes, struct view *ret_key,
			  struct span_value *ret, struct err *err)
{
	struct otlp_attribute attribute;

	if (otlp_attribute_read(bytes, &attribute) < 0)
		return damaged(r, (const uint8_t *)bytes.s, "KeyValue", err);
	if (span_value_otlp(&r->in->text, attribute.value, ret) < 0)
		return damaged(r, (const uint8_t *)attribute.value.s, "AnyValue", err);
	*ret_key = attribute.key;
	return 0;
}

static int read_owner(struct otlp_file *r, struct err *err)
{
	struct otlp_resource resource;
	struct span_value value;
	struct view bytes, key;

	r->owner = (struct span_owner){ 0 };
	r->owner_resource = r->reader.resources;
	if (otlp_read_resource(&r->reader, &resource) < 0)
		return damaged(r, r->reader.damage, r->reader.expected, err);
	while (otlp_list_next(&resource.attributes, &bytes) > 0) {
		if (read_attribute(r, bytes, &key, &value, err) < 0)
			return -EBADMSG;
		span_owner_set(r->in, &r->owner, key, &value);
	}
	return 0;
}

static bool read_id(struct view bytes, uint8_t *ret, size_t size)
{
	if (bytes.len != size || span_id_is_zero(bytes.s, size))
		return false;
	memcpy(ret, bytes.s, size);
	return true;
}

/* NULL, or a reason to skip the span. */
static const char *read_span_fields(const struct otlp_span *from, struct record_span *span)
{
	if (!read_id(from->trace_id, span->trace, sizeof(span->trace)))
		return "has no trace_id of 16 bytes";
	if (!read_id(from->span_id, span->span, sizeof(span->span)))
		return "has no span_id of 8 bytes";
	if (!from->start)
		return "has no start_time_unix_nano";
	read_id(from->parent_span_id, span->parent, sizeof(span->parent));
	span->kind = from->kind <= SPAN_CONSUMER ? from->kind : SPAN_UNSPECIFIED;
	if (!from->end)
		return span_set_unfinished(span, from->start);
	return span_set_times(span, from->start, from->end);
}

static int read_attributes(struct otlp_file *r, struct otlp_list list, struct record_span *span,
			   struct err *err)
{
	struct span_value value;
	struct view bytes, key;

	while (otlp_list_next(&list, &bytes) > 0) {
		if (span_add_cached_tag(r->in, bytes))
			continue;
		if (read_attribute(r, bytes, &key, &value, err) < 0)
			return -EBADMSG;
		if (span_add_tag(r->in, span, key, &value))
			span_cache_tag(r->in, bytes);
	}
	return 0;
}

static int read_span(struct otlp_file *r, const struct otlp_span *from, struct err *err)
{
	struct record_span span = span_empty();
	const char *problem = read_span_fields(from, &span);

	if (problem) {
		span_input_skip(r->in, problem);
		return 0;
	}
	if (r->owner_resource != r->reader.resources && read_owner(r, err) < 0)
		return -EBADMSG;
	if (read_attributes(r, from->attributes, &span, err) < 0)
		return -EBADMSG;
	span_set_status(r->in, &span, from->status, from->status_message);
	span_input_add(r->in, &span, &r->owner, from->name);
	return 0;
}

static int read_request(struct otlp_file *r, struct view request, struct err *err)
{
	struct otlp_span span;
	int more;

	otlp_reader_init(&r->reader, request);
	r->owner_resource = 0;
	while ((more = otlp_next_span(&r->reader, &span)) > 0) {
		int code = read_span(r, &span, err);

		if (code < 0)
			return code;
	}
	return more < 0 ? damaged(r, r->reader.damage, r->reader.expected, err) : 0;
}

/* The last request can be incomplete, for example because its writer was killed. */
static int read_frames(struct otlp_file *r, struct err *err)
{
	struct view rest = r->file;

	while (rest.len) {
		size_t length = rest.len < FRAME_SIZE ? 0 : frame_length(rest);

		if (rest.len < FRAME_SIZE + length) {
			r->in->truncation = "the last request is incomplete";
			return 0;
		}

		int code = read_request(r, (struct view){ rest.s + FRAME_SIZE, length }, err);

		if (code < 0)
			return code;
		rest.s += FRAME_SIZE + length;
		rest.len -= FRAME_SIZE + length;
	}
	return 0;
}

int otlp_open_memory(const char *name, const char *data, size_t size, struct input **ret,
		     struct err *err)
{
	struct otlp_file r = { .in = span_input_new(&otlp_format, name), .file = { data, size } };
	_cleanup_(input_freep) struct input *input = &r.in->input;
	bool framed = !is_request(r.file, 0) && is_framed(r.file, 0);
	int code = framed ? read_frames(&r, err) : read_request(&r, r.file, err);

	if (code < 0)
		return code;
	span_input_finish(r.in);
	*ret = TAKE(input);
	return 0;
}

int input_open_otlp(struct view request, struct input **ret, struct err *err)
{
	struct otlp_file r = { .in = span_input_new(&otlp_format, "spans"), .file = request };
	_cleanup_(input_freep) struct input *input = &r.in->input;
	int code = read_request(&r, request, err);

	if (code < 0)
		return code;
	span_input_finish(r.in);
	*ret = TAKE(input);
	return 0;
}

static int open_file(const char *path, struct input **ret, struct err *err)
{
	return span_input_open(path, otlp_open_memory, ret, err);
}

const struct input_format otlp_format = {
	.name = "otlp",
	.matches_file = is_otlp,
	.open = open_file,
	.next = span_input_next,
	.string = span_input_string,
	.free = span_input_free,
};
