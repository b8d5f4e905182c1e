/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp - spans as OpenTelemetry's SDKs send them: export requests in protobuf.
 *
 * A file has one request, or several, each behind its length in four bytes, the
 * highest first, as the collector's file exporter writes them.  Neither has a
 * mark at its begin.  A request begins with a resource: messages inside
 * messages, whose lengths must fit into each other, down to the name of an
 * attribute or the ids of a span, which have 16 and 8 bytes.  Random bytes do
 * not look like that, nor do metrics and logs, which begin like traces but hold
 * no spans.
 */
#include <inttypes.h>
#include <stdio.h>

#include "otlp/trace.h"
#include "read/span/input.h"

enum { HEAD_SIZE = 4096, FRAME_SIZE = 4 };

/* What is seen of a message, and how much of it is not. */
struct peek {
	const uint8_t *at, *end;
	uint64_t hidden;
};

static uint64_t length_of(const struct peek *p)
{
	return p->end - p->at + p->hidden;
}

/* 1 with a field, 0 if no other can be seen, -EBADMSG if this is no message. */
static int peek_next(struct peek *p, uint32_t *ret_tag, struct peek *ret)
{
	const uint8_t *at = p->at;
	uint64_t tag, size = 0;

	if (at == p->end)
		return 0;
	at = pb_varint(at, p->end, &tag);
	if (at && (tag & 7) != PB_FIXED64 && (tag & 7) != PB_FIXED32)
		at = pb_varint(at, p->end, &size); /* a number, or a length */
	if (!at)
		return p->hidden ? 0 : -EBADMSG;
	if ((tag & 7) != PB_BYTES)
		size = (tag & 7) == PB_FIXED64 ? 8 : (tag & 7) == PB_FIXED32 ? 4 : 0;

	size_t seen = p->end - at;

	if (tag > UINT32_MAX || (size > seen && size - seen > p->hidden))
		return -EBADMSG;
	seen = size < seen ? size : seen;
	*ret = (struct peek){ at, at + seen, size - seen };
	*ret_tag = tag;
	p->at = at + seen;
	p->hidden -= size - seen;
	return 1;
}

static bool is_name(const struct peek *p)
{
	for (const uint8_t *at = p->at; at < p->end; at++)
		if (*at < ' ' || *at == 0x7f)
			return false;
	return p->end > p->at;
}

/* How sure it is: -1 no, 0 nothing speaks against it, 1 names are names, 2 spans are spans. */
static int judge_attributes(struct peek list)
{
	struct peek attribute, key;
	uint32_t tag;
	int r, sure = 0;

	while ((r = peek_next(&list, &tag, &attribute)) > 0) {
		if (tag != PB_TAG(1, PB_BYTES) && tag != PB_TAG(2, PB_VARINT) &&
		    tag != PB_TAG(3, PB_BYTES))
			return -1;
		if (tag != PB_TAG(1, PB_BYTES))
			continue;
		r = peek_next(&attribute, &tag, &key);
		if (r < 0 || (r > 0 && (tag != PB_TAG(1, PB_BYTES) || !is_name(&key))))
			return -1;
		sure = r > 0 ? 1 : sure;
	}
	return r < 0 ? -1 : sure;
}

static int judge_span(struct peek span)
{
	struct peek trace_id, span_id;
	uint32_t tag;
	int r = peek_next(&span, &tag, &trace_id);

	if (r > 0 && (tag != PB_TAG(1, PB_BYTES) || length_of(&trace_id) != 16))
		return -1;
	r = r > 0 ? peek_next(&span, &tag, &span_id) : r;
	if (r > 0 && (tag != PB_TAG(2, PB_BYTES) || length_of(&span_id) != 8))
		return -1;
	return r > 0 ? 2 : r;
}

static int judge_scope(struct peek scope)
{
	struct peek field;
	uint32_t tag;
	int r;

	while ((r = peek_next(&scope, &tag, &field)) > 0) {
		if (tag == PB_TAG(2, PB_BYTES))
			return judge_span(field);
		if (tag != PB_TAG(1, PB_BYTES) && tag != PB_TAG(3, PB_BYTES))
			return -1;
	}
	return r;
}

static int judge_resource(struct peek resource)
{
	struct peek field;
	uint32_t tag;
	int r, sure = 0;

	while ((r = peek_next(&resource, &tag, &field)) > 0 && sure >= 0 && sure < 2) {
		int judged = 0;

		if (tag == PB_TAG(1, PB_BYTES))
			judged = judge_attributes(field);
		else if (tag == PB_TAG(2, PB_BYTES))
			judged = judge_scope(field);
		else if (tag != PB_TAG(3, PB_BYTES))
			judged = -1;
		sure = judged < 0 || judged > sure ? judged : sure;
	}
	return r < 0 ? -1 : sure;
}

/* Whether this is a request, or what can be seen of one if more of it is hidden. */
static bool is_request(struct view bytes, uint64_t hidden)
{
	const uint8_t *at = (const uint8_t *)bytes.s;
	struct peek request = { at, at + bytes.len, hidden }, field;
	uint32_t tag;
	int r, sure = 0;

	while (sure == 0 && (r = peek_next(&request, &tag, &field)) > 0)
		sure = tag == PB_TAG(1, PB_BYTES) ? judge_resource(field) : -1;
	return sure > 0;
}

static uint32_t frame_length(struct view bytes)
{
	const uint8_t *b = (const uint8_t *)bytes.s;

	return (uint32_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
}

/* Whether this begins with a length and a request of it. */
static bool is_framed(struct view bytes, uint64_t hidden)
{
	if (bytes.len < FRAME_SIZE)
		return false;

	size_t length = frame_length(bytes), seen = bytes.len - FRAME_SIZE;

	if (length > seen && length - seen > hidden)
		return false;
	seen = length < seen ? length : seen;
	return is_request((struct view){ bytes.s + FRAME_SIZE, seen }, length - seen);
}

static bool is_otlp(const char *head, size_t size)
{
	struct view bytes = { head, size };
	uint64_t hidden = size < HEAD_SIZE ? 0 : INT64_MAX;

	return is_request(bytes, hidden) || is_framed(bytes, hidden);
}

struct reading {
	struct span_input *in;
	struct view file;
	struct otlp_reader reader;
	struct span_owner owner; /* of the resource with that number */
	uint64_t owner_of;
};

static int damaged(const struct reading *r, const uint8_t *at, const char *message, struct err *err)
{
	return err_set(err, -EBADMSG, "'%s' is damaged: expected a field of %s at offset %zu",
		       r->in->name, message, (size_t)(at - (const uint8_t *)r->file.s));
}

static int read_attribute(const struct reading *r, struct view bytes, struct view *ret_key,
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

static int read_owner(struct reading *r, struct err *err)
{
	struct otlp_resource resource;
	struct span_value value;
	struct view bytes, key;

	r->owner = (struct span_owner){ 0 };
	r->owner_of = r->reader.resources;
	if (otlp_read_resource(&r->reader, &resource) < 0)
		return damaged(r, r->reader.damage, r->reader.expected, err);
	while (otlp_list_next(&resource.attributes, &bytes) > 0) {
		if (read_attribute(r, bytes, &key, &value, err) < 0)
			return -EBADMSG;
		span_owner_set(r->in, &r->owner, key, &value);
	}
	return 0;
}

static bool take_id(struct view bytes, uint8_t *ret, size_t size)
{
	if (bytes.len != size || span_id_is_none(bytes.s, size))
		return false;
	memcpy(ret, bytes.s, size);
	return true;
}

/* NULL, or what the span lacks. */
static const char *take_span(const struct otlp_span *from, struct record_span *span)
{
	if (!take_id(from->trace_id, span->trace, sizeof(span->trace)))
		return "has no trace_id of 16 bytes";
	if (!take_id(from->span_id, span->span, sizeof(span->span)))
		return "has no span_id of 8 bytes";
	if (!from->start)
		return "has no start_time_unix_nano";
	take_id(from->parent_span_id, span->parent, sizeof(span->parent));
	span->kind = from->kind <= SPAN_CONSUMER ? from->kind : SPAN_UNSPECIFIED;
	if (!from->end)
		return span_set_begin(span, from->start);
	return span_set_times(span, from->start, from->end);
}

static int read_attributes(struct reading *r, struct otlp_list list, struct record_span *span,
			   struct err *err)
{
	struct span_value value;
	struct view bytes, key;

	while (otlp_list_next(&list, &bytes) > 0) {
		if (span_take_same(r->in, bytes))
			continue;
		if (read_attribute(r, bytes, &key, &value, err) < 0)
			return -EBADMSG;
		if (span_take(r->in, span, key, &value))
			span_keep(r->in, bytes);
	}
	return 0;
}

static int read_span(struct reading *r, const struct otlp_span *from, struct err *err)
{
	struct record_span span = span_empty();
	const char *lack = take_span(from, &span);

	if (lack) {
		span_input_skip(r->in, "span %" PRIu64 " %s", span_input_number(r->in), lack);
		return 0;
	}
	if (r->owner_of != r->reader.resources && read_owner(r, err) < 0)
		return -EBADMSG;
	if (read_attributes(r, from->attributes, &span, err) < 0)
		return -EBADMSG;
	span_take_status(r->in, &span, from->status, from->status_message);
	span.service = r->owner.service.i;
	span.pid = r->owner.pid;
	span.operation = span_input_intern(r->in, from->name).i;
	span_input_add(r->in, &span, r->owner.host);
	return 0;
}

static int read_request(struct reading *r, struct view request, struct err *err)
{
	struct otlp_span span;
	int more;

	otlp_reader_init(&r->reader, request);
	r->owner_of = 0;
	while ((more = otlp_next_span(&r->reader, &span)) > 0) {
		int code = read_span(r, &span, err);

		if (code < 0)
			return code;
	}
	return more < 0 ? damaged(r, r->reader.damage, r->reader.expected, err) : 0;
}

/* The last may be cut off, as when the program was killed that wrote it. */
static int read_frames(struct reading *r, struct err *err)
{
	struct view rest = r->file;

	while (rest.len) {
		size_t length = rest.len < FRAME_SIZE ? 0 : frame_length(rest);

		if (rest.len < FRAME_SIZE + length) {
			r->in->cut = "its last request is cut off";
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
	struct reading r = { .in = span_input_new(&otlp_format, name), .file = { data, size } };
	_cleanup_(input_freep) struct input *input = &r.in->input;
	bool framed = !is_request(r.file, 0) && is_framed(r.file, 0);
	int code = framed ? read_frames(&r, err) : read_request(&r, r.file, err);

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
