/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: an export request with spans in protobuf, valid or not.  Every third span gains an
 * attribute and a span.  All bytes of the old spans stay, in their order.
 */
#include <assert.h>

#include "base/vec.h"
#include "otlp/splice.h"
#include "otlp/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define ATTRIBUTE ((struct view){ "\x4a\3\x0a\1k", 5 })
#define SPAN ((struct view){ "\x12\3\x2a\1n", 5 })
#define NEW_SPAN ((struct view){ "\x2a\1n", 3 })
#define NOTHING ((struct view){ "", 0 })

typedef VEC(struct otlp_insert) insert_list;

static struct view view_of(const struct pb_buffer *b)
{
	return (struct view){ b->data ? (const char *)b->data : "", b->size };
}

static insert_list choose(struct view request)
{
	insert_list list = { 0 };
	struct otlp_reader reader;
	struct otlp_span span;

	otlp_reader_init(&reader, request);
	for (int i = 0; otlp_next_span(&reader, &span) > 0; i++)
		if (i % 3 == 0)
			*vec_push(&list) =
				(struct otlp_insert){ otlp_span_offset(&reader), ATTRIBUTE, SPAN };
	return list;
}

static void expect(struct otlp_reader *reader, struct view span, struct view more)
{
	struct otlp_span ignored;

	assert(otlp_next_span(reader, &ignored) > 0);
	assert(reader->span.len == span.len + more.len);
	assert(memcmp(reader->span.s, span.s, span.len) == 0);
	assert(memcmp(reader->span.s + span.len, more.s, more.len) == 0);
}

/* Compares the spans of each resource, then those that are new in it, up to the first damage. */
static void compare(struct view before, struct view after)
{
	struct otlp_reader old, new;
	struct otlp_span span;
	uint64_t resource = 0;
	int r, inserted = 0;

	otlp_reader_init(&old, before);
	otlp_reader_init(&new, after);
	for (int i = 0; (r = otlp_next_span(&old, &span)) > 0; i++) {
		for (; old.resources != resource && inserted; inserted--)
			expect(&new, NEW_SPAN, NOTHING);
		resource = old.resources;
		expect(&new, old.span, i % 3 ? NOTHING : ATTRIBUTE);
		inserted += i % 3 == 0;
	}
	for (; r == 0 && inserted; inserted--)
		expect(&new, NEW_SPAN, NOTHING);
	assert(r < 0 || otlp_next_span(&new, &span) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_(pb_buffer_done) struct pb_buffer same = { 0 }, out = { 0 };
	struct view request = { (const char *)bytes, size };
	insert_list list = choose(request);
	struct otlp_inserts inserts = { list.items, list.count, { "\x0a\5sonde", 7 } };

	otlp_splice(request, &(struct otlp_inserts){ 0 }, &same);
	assert(same.size == size && (!size || memcmp(same.data, bytes, size) == 0));
	otlp_splice(request, &inserts, &out);
	compare(request, view_of(&out));
	vec_done(&list);
	return 0;
}
