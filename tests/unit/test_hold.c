/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are held back for their annotations. */
#include "relay/hold.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "otlp/trace.h"
#include "test.h"

struct released {
	VEC(struct pb_buffer) bodies;
	uint64_t items, annotated;
};

static void released_done(struct released *r)
{
	for (size_t i = 0; i < r->bodies.count; i++)
		pb_buffer_done(&r->bodies.items[i]);
	vec_done(&r->bodies);
}

static void on_release(void *arg, struct pb_buffer *body, uint64_t items, uint64_t annotated)
{
	struct released *r = arg;

	*vec_push(&r->bodies) = *body;
	r->items += items;
	r->annotated += annotated;
}

static struct hold *make(struct released *r, size_t bytes_max)
{
	return hold_new(
		&(struct hold_options){ .bytes_max = bytes_max, .release = on_release, .arg = r });
}

/* A request with two spans; the offsets of both. */
static struct otlp_writer two_spans(size_t offsets[2])
{
	struct otlp_writer w = { 0 };
	struct otlp_reader reader;
	struct otlp_span span;

	otlp_begin_resource(&w, &(struct otlp_resource){ 0 });
	otlp_begin_scope(&w, &(struct otlp_scope){ 0 });
	for (int i = 0; i < 2; i++)
		otlp_begin_span(&w,
				&(struct otlp_span){ .trace_id = { "0123456789abcdef", 16 },
						     .span_id = { i ? "secondid" : "first_id", 8 },
						     .name = { "name", 4 } });
	otlp_reader_init(&reader, otlp_end(&w));
	for (int i = 0; otlp_next_span(&reader, &span) > 0; i++)
		offsets[i] = otlp_span_offset(&reader);
	return w;
}

static struct view view_of(const struct pb_buffer *b)
{
	return (struct view){ (const char *)b->data, b->size };
}

static size_t count_spans(struct view request)
{
	struct otlp_reader reader;
	struct otlp_span span;
	size_t n = 0;

	otlp_reader_init(&reader, request);
	while (otlp_next_span(&reader, &span) > 0)
		n++;
	return n;
}

TEST(a_request_leaves_when_all_its_slow_spans_are_answered)
{
	_cleanup_(released_done) struct released r = { 0 };
	_cleanup_(hold_freep) struct hold *h = make(&r, 0);
	size_t offsets[2];
	_cleanup_(otlp_writer_done) struct otlp_writer w = two_spans(offsets), child = { 0 };
	uint64_t ticket = hold_add(h, otlp_end(&w), 2, offsets, 2, 100);

	otlp_begin_spans(&child);
	otlp_begin_span(&child, &(struct otlp_span){ .name = { "wait", 4 } });
	CHECK(hold_annotate(h, ticket, 1, (struct view){ 0 }, otlp_end(&child)));
	hold_run(h, 50);
	CHECK_INT(r.bodies.count, 0);
	CHECK(hold_annotate(h, ticket, 0, (struct view){ 0 }, (struct view){ 0 }));
	CHECK(!hold_annotate(h, ticket, 0, (struct view){ 0 }, (struct view){ 0 }));
	hold_run(h, 50);
	CHECK_INT(r.bodies.count, 1);
	CHECK_INT(r.annotated, 1);
	CHECK_INT(count_spans(view_of(&r.bodies.items[0])), 3);
	CHECK(hold_is_empty(h));
}

TEST(a_request_leaves_unchanged_at_its_deadline)
{
	_cleanup_(released_done) struct released r = { 0 };
	_cleanup_(hold_freep) struct hold *h = make(&r, 0);
	size_t offsets[2];
	_cleanup_(otlp_writer_done) struct otlp_writer w = two_spans(offsets);
	struct view request = otlp_end(&w);
	uint64_t ticket = hold_add(h, request, 2, offsets, 2, 100);

	CHECK_INT(hold_deadline(h), 100);
	hold_run(h, 99);
	CHECK_INT(r.bodies.count, 0);
	hold_run(h, 100);
	CHECK_INT(r.bodies.count, 1);
	CHECK(view_of(&r.bodies.items[0]).len == request.len &&
	      memcmp(r.bodies.items[0].data, request.s, request.len) == 0);
	CHECK(!hold_annotate(h, ticket, 0, (struct view){ 0 }, (struct view){ 0 }));
}

TEST(requests_leave_in_their_order)
{
	_cleanup_(released_done) struct released r = { 0 };
	_cleanup_(hold_freep) struct hold *h = make(&r, 0);
	size_t offsets[2];
	_cleanup_(otlp_writer_done) struct otlp_writer w = two_spans(offsets);

	hold_add(h, otlp_end(&w), 1, offsets, 1, 100);
	for (uint64_t i = 0; i < 3000; i++)
		hold_add(h, (struct view){ "\x0a\x00", 2 }, 2, NULL, 0, 100);
	hold_run(h, 50);
	CHECK_INT(r.bodies.count, 0);
	CHECK(hold_annotate(h, 0, 0, (struct view){ 0 }, (struct view){ 0 }));
	hold_run(h, 50);
	CHECK_INT(r.bodies.count, 3001);
	CHECK(r.bodies.items[0].size > 2);
	CHECK_INT(r.items, 6001);
	CHECK(hold_is_empty(h));

	uint64_t ticket = hold_add(h, otlp_end(&w), 1, offsets, 1, 200);

	CHECK_INT(ticket, 3001);
	CHECK(hold_annotate(h, ticket, 0, (struct view){ 0 }, (struct view){ 0 }));
}

TEST(with_too_many_bytes_the_oldest_leave_early)
{
	_cleanup_(released_done) struct released r = { 0 };
	_cleanup_(hold_freep) struct hold *h = make(&r, 1 << 20);
	size_t offsets[2];
	_cleanup_(otlp_writer_done) struct otlp_writer w = two_spans(offsets);
	size_t fits = 0;

	for (; !r.bodies.count; fits++)
		hold_add(h, otlp_end(&w), 1, offsets, 1, 100);
	CHECK_INT(r.bodies.count, 1);
	CHECK(fits > 100);
	for (size_t i = 0; i < 3; i++)
		hold_add(h, otlp_end(&w), 1, offsets, 1, 100);
	CHECK_INT(r.bodies.count, 4);
	hold_run(h, UINT64_MAX);
	CHECK_INT(r.bodies.count, fits + 3);
}

static void on_drop(void *arg, struct pb_buffer *body, uint64_t items, uint64_t annotated)
{
	(void)arg, (void)items, (void)annotated;
	pb_buffer_done(body);
}

/* Small requests need more memory than they have bytes. */
TEST(the_memory_of_small_requests_is_bounded)
{
	enum { LIMIT = 8 << 20 };
	_cleanup_(hold_freep) struct hold *h =
		hold_new(&(struct hold_options){ .bytes_max = LIMIT, .release = on_drop });
	size_t offsets[2], before;
	_cleanup_(otlp_writer_done) struct otlp_writer w = two_spans(offsets);

	before = mallinfo2().uordblks;
	for (size_t i = 0; i < 100000; i++) {
		uint64_t ticket = hold_add(h, otlp_end(&w), 1, offsets, 2, 100);

		hold_annotate(h, ticket, 0, (struct view){ "x", 1 }, (struct view){ 0 });
	}
	CHECK(mallinfo2().uordblks < before + LIMIT / 4 * 5);
}
