/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes and sums of hand-made requests; thread n belongs to service "string n". */
#include "analyse/requests/sum.h"

#include <stdlib.h>

#include "story.h"
#include "test.h"

enum { THREADS = 5 };

static struct model *services(void)
{
	struct story s = { 0 };

	for (uint32_t tid = 1; tid <= THREADS; tid++) {
		story_add(&s,
			  REC(TASK, task, 0, tid, .pid = tid, .comm = tid, .event = TASK_EXISTING));
		story_run(&s, tid, 0, 1000);
	}

	struct model *model = story_model(&s);

	story_done(&s);
	return model;
}

static void begin(struct requests *r)
{
	*vec_push(&r->spans) = (struct request_span){ 0 };
}

/* Adds the last child of a parent, or a root. */
static uint32_t add(struct requests *r, uint32_t parent, uint32_t tid, enum request_kind kind)
{
	uint32_t index = r->spans.count;

	*vec_push(&r->spans) = (struct request_span){ .parent = parent,
						      .thread = { tid },
						      .kind = kind,
						      .confidence = 1,
						      .start = 10,
						      .end = 20 + index };
	if (!parent) {
		*vec_push(&r->roots) = index;
		return index;
	}

	uint32_t *link = &r->spans.items[parent].first_child;

	while (*link)
		link = &r->spans.items[*link].next;
	*link = index;
	return index;
}

static void check_shape(const struct requests *r, const char *want)
{
	_cleanup_(model_freep) struct model *model = services();
	_cleanup_(freep) char *shape = request_shape(model, r, 1);

	CHECK_STR(shape, want);
}

TEST(a_request_has_the_shape_of_its_services)
{
	_cleanup_(requests_done) struct requests r = { 0 };

	begin(&r);

	uint32_t root = add(&r, 0, 1, REQUEST_NETWORK);
	uint32_t second = add(&r, root, 2, REQUEST_NETWORK);

	check_shape(&r, "string 1>(string 2)");
	add(&r, second, 3, REQUEST_NETWORK);
	add(&r, root, 4, REQUEST_FORK);
	check_shape(&r, "string 1>(string 2>(string 3),string 4)");
}

TEST(a_receive_for_another_request_is_not_part_of_the_work_that_it_ends)
{
	struct story s = { 0 };
	struct request_use first = { 0 }, second = { 0 };

	story_add(&s, REC(TASK, task, 0, 1, .pid = 1, .event = TASK_EXISTING));
	story_run(&s, 1, 0, 100);
	story_receive(&s, 1, 10, 7, 1, 30);
	story_receive(&s, 1, 20, 8, 1, 500);
	story_send(&s, 1, 30, 7, 1, 2);
	story_send(&s, 1, 40, 8, 1, 4);

	_cleanup_(model_freep) struct model *model = story_model(&s);

	request_use_work(model, &(struct request_work){ 1, { 1 }, 10, 20 }, &first);
	request_use_work(model, &(struct request_work){ 1, { 1 }, 30, 40 }, &second);
	CHECK_INT(first.received_bytes, 30);
	CHECK_INT(second.sent_bytes, 4);
	story_done(&s);
}

TEST(equal_children_in_a_row_are_folded)
{
	_cleanup_(requests_done) struct requests r = { 0 };

	begin(&r);

	uint32_t root = add(&r, 0, 1, REQUEST_NETWORK);

	for (int i = 0; i < 3; i++)
		add(&r, add(&r, root, 2, REQUEST_NETWORK), 3, REQUEST_NETWORK);
	add(&r, root, 2, REQUEST_NETWORK);
	add(&r, root, 4, REQUEST_NETWORK);
	add(&r, root, 4, REQUEST_NETWORK);
	check_shape(&r, "string 1>(string 2>(string 3) x3,string 2,string 4 x2)");
}

TEST(handoffs_within_a_service_are_not_part_of_a_shape)
{
	_cleanup_(requests_done) struct requests r = { 0 };

	begin(&r);

	uint32_t root = add(&r, 0, 1, REQUEST_NETWORK);

	add(&r, root, 2, REQUEST_NETWORK);
	add(&r, add(&r, root, 5, REQUEST_HANDOFF), 2, REQUEST_NETWORK);
	add(&r, root, 5, REQUEST_HANDOFF);
	check_shape(&r, "string 1>(string 2 x2)");
}

TEST(very_deep_requests_have_a_short_shape)
{
	for (int kind = REQUEST_NETWORK; kind <= REQUEST_HANDOFF; kind++) {
		_cleanup_(requests_done) struct requests r = { 0 };
		_cleanup_(model_freep) struct model *model = services();
		uint32_t at = 0;

		begin(&r);
		at = add(&r, 0, 1, REQUEST_NETWORK);
		for (int i = 0; i < 300000; i++)
			at = add(&r, at, 1 + i % THREADS, kind);

		_cleanup_(freep) char *shape = request_shape(model, &r, 1);

		CHECK(strlen(shape) < 4096);
	}
}

/* Adds up the requests with an even end; these are not in the span set. */
static void sum_even(const struct model *model, const struct requests *r, struct request_sum *ret)
{
	struct span_set spans = { .model = model };
	VEC(uint32_t) roots = { 0 };

	for (size_t i = 0; i < r->roots.count; i++)
		if (r->spans.items[r->roots.items[i]].end % 2 == 0)
			*vec_push(&roots) = r->roots.items[i];
	request_sum_find(&spans, r, roots.items, roots.count, ret);
	vec_done(&roots);
}

TEST(a_sum_counts_the_given_requests)
{
	_cleanup_(requests_done) struct requests r = { 0 };
	_cleanup_(model_freep) struct model *model = services();
	_cleanup_(request_sum_done) struct request_sum sum;

	begin(&r);
	for (int i = 0; i < 200; i++) /* 11 to 210 ns long */
		add(&r, 0, 1, REQUEST_NETWORK);
	r.spans.items[r.spans.count - 1].parent_unknown = true;
	sum_even(model, &r, &sum);
	CHECK_INT(sum.unparented, 1);
	CHECK_INT(sum.entries.count, 1);
	CHECK_INT(sum.entries.items[0].count, 99);
	CHECK_INT(sum.entries.items[0].latency.p50, 110);
	CHECK_INT(sum.entries.items[0].latency.p99, 208);
	CHECK_STR(strtab_get(sum.strings, sum.shapes.items[0].name), "string 1");
}

TEST(a_request_without_a_reply_is_counted_but_has_no_duration)
{
	_cleanup_(requests_done) struct requests r = { 0 };
	_cleanup_(model_freep) struct model *model = services();
	_cleanup_(request_sum_done) struct request_sum sum;

	begin(&r);
	for (int i = 0; i < 8; i++)
		r.spans.items[add(&r, 0, 1, REQUEST_NETWORK)].no_reply = i >= 6;
	sum_even(model, &r, &sum);
	CHECK_INT(sum.entries.items[0].count, 4);
	CHECK_INT(sum.entries.items[0].no_reply, 1);
	CHECK_INT(sum.entries.items[0].latency.p99, 16);
}
