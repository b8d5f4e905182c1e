/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk descends from the request to its resources, scopes and spans, but only into messages
 * that contain the next insert; all others are copied as a whole.  A message contains an insert if
 * the body of the span is inside.  That body starts after its tag and its length, so it starts
 * after the start of each message around it, and, if it is empty, possibly at their end.  No other
 * message matches: the body of the next one starts at least two bytes later.
 */
#include "otlp/splice.h"

#include <assert.h>

#include "otlp/trace_fields.h"

struct splicer {
	const char *request;
	const struct otlp_inserts *inserts;
	size_t next; /* insert */
	struct pb_buffer *out;
};

static bool is_done(const struct splicer *s)
{
	return s->next == s->inserts->count;
}

/* The body of the span of the next insert. */
static const char *next_span(const struct splicer *s)
{
	return s->request + s->inserts->items[s->next].span;
}

static bool contains_next(const struct splicer *s, struct view body)
{
	return next_span(s) >= body.s && next_span(s) <= body.s + body.len;
}

/* Copies the body of a message; change() writes the fields with a tag that contain an insert. */
static void copy_fields(struct splicer *s, struct view body, uint32_t tag,
			void (*change)(struct splicer *s, struct view body))
{
	struct pb_reader pb = pb_reader_of(body);
	const uint8_t *copied = pb.at;
	struct pb_field f;

	for (const uint8_t *at = pb.at; !is_done(s) && pb_next(&pb, &f) > 0; at = pb.at)
		if (f.tag == tag && contains_next(s, f.bytes)) {
			pb_append(s->out, (struct view){ (const char *)copied, at - copied });

			size_t begin = pb_begin_message(s->out, tag >> 3);

			change(s, f.bytes);
			pb_end_message(s->out, begin);
			copied = pb.at;
		}
	pb_append(s->out, (struct view){ (const char *)copied, pb.end - copied });
}

static void change_span(struct splicer *s, struct view body)
{
	pb_append(s->out, body);
	for (; !is_done(s) && next_span(s) == body.s; s->next++)
		pb_append(s->out, s->inserts->items[s->next].attributes);
}

static void change_scope(struct splicer *s, struct view body)
{
	copy_fields(s, body, BYTES(SCOPE_SPANS_SPANS), change_span);
}

/* Writes a scope with the spans of the inserts from `first` to the next. */
static void put_scope(struct splicer *s, size_t first)
{
	size_t begin = pb_begin_message(s->out, RESOURCE_SPANS_SCOPE_SPANS);

	pb_put_bytes(s->out, SCOPE_SPANS_SCOPE, s->inserts->scope);
	for (size_t i = first; i < s->next; i++)
		pb_append(s->out, s->inserts->items[i].spans);
	pb_end_message(s->out, begin);
}

static void change_resource(struct splicer *s, struct view body)
{
	size_t first = s->next;
	bool has_spans = false;

	copy_fields(s, body, BYTES(RESOURCE_SPANS_SCOPE_SPANS), change_scope);
	for (size_t i = first; i < s->next; i++)
		has_spans |= s->inserts->items[i].spans.len > 0;
	if (has_spans)
		put_scope(s, first);
}

void otlp_splice(struct view request, const struct otlp_inserts *inserts, struct pb_buffer *ret)
{
	struct splicer s = { .request = request.s, .inserts = inserts, .out = ret };

	copy_fields(&s, request, BYTES(REQUEST_RESOURCE_SPANS), change_resource);
	assert(is_done(&s)); /* otherwise an offset or the order of the inserts is wrong */
}
