/* SPDX-License-Identifier: Apache-2.0 */
/* Types of traces. */
#include "analyse/workflow.h"

#include "build.h"
#include "test.h"

#define US 1000ull

/* A span with single letters as id, parent, service and operation; times in microseconds. */
struct tree_span {
	char id, parent, service, operation;
	nsec_t start, end;
};

static const char *get_string(const void *arg, uint32_t id)
{
	static char text[2];

	text[0] = id;
	return text;
}

static struct model *model_of(const struct tree_span *spans, size_t count)
{
	const struct source source = { .get_string = get_string };
	struct model *model = model_new();

	for (size_t i = 0; i < count; i++)
		model_add(model, &source,
			  REC(SPAN, span, spans[i].end * US, 0, .start = spans[i].start * US,
			      .trace = { 1 }, .span = { spans[i].id },
			      .parent = { spans[i].parent }, .service = spans[i].service,
			      .operation = spans[i].operation));
	model_finish(model);
	return model;
}

static span_id find_root(const struct model *model)
{
	for (uint32_t i = 1; i < model_span_count(model); i++)
		if (!model_span(model, (span_id){ i })->parent.i)
			return (span_id){ i };
	return (span_id){ 0 };
}

struct type {
	uint64_t subtree, folded;
};

static struct type type_of(const struct tree_span *spans, size_t count)
{
	_cleanup_(model_freep) struct model *model = model_of(spans, count);
	_cleanup_(workflow_done) struct workflow flow = { 0 };

	workflow_find(&flow, &(struct span_set){ .model = model }, find_root(model));
	CHECK_INT(flow.nodes.count, count);
	return (struct type){ flow.nodes.items[0].subtree, flow.nodes.items[0].folded };
}

#define TREE(...) \
	type_of((const struct tree_span[]){ __VA_ARGS__ }, \
		ARRAY_LEN(((const struct tree_span[]){ __VA_ARGS__ })))

static bool is_same(struct type a, struct type b)
{
	return a.subtree == b.subtree && a.folded == b.folded;
}

/* Ids of the spans in an order. */
static void check_order(const struct tree_span *spans, size_t count, const char *parents_first,
			const char *children_first)
{
	_cleanup_(model_freep) struct model *model = model_of(spans, count);
	_cleanup_(workflow_done) struct workflow flow = { 0 };
	char before[16] = "", after[16] = "";

	workflow_find(&flow, &(struct span_set){ .model = model }, find_root(model));
	for (size_t i = 0; i < flow.nodes.count; i++) {
		const struct workflow_node *node = &flow.nodes.items[i];

		before[node->position] = model_span(model, node->span)->id[0];
		after[i] = model_span(model, flow.nodes.items[flow.order.items[i]].span)->id[0];
	}
	CHECK_STR(before, parents_first);
	CHECK_STR(after, children_first);
}

TEST(traces_with_the_same_tree_have_the_same_type)
{
	struct type type = TREE({ 'a', 0, 'F', 'h', 0, 100 }, { 'b', 'a', 'B', 'q', 10, 20 },
				{ 'c', 'a', 'C', 'r', 30, 40 });

	/* other ids and times, and another order of the input */
	CHECK(is_same(type, TREE({ 'z', 'x', 'C', 'r', 50, 70 }, { 'x', 0, 'F', 'h', 5, 90 },
				 { 'y', 'x', 'B', 'q', 8, 30 })));
}

TEST(names_structure_and_order_are_parts_of_the_type)
{
	struct type type = TREE({ 'a', 0, 'F', 'h', 0, 100 }, { 'b', 'a', 'B', 'q', 10, 20 },
				{ 'c', 'a', 'C', 'r', 30, 40 });
	const struct type others[] = {
		TREE({ 'a', 0, 'G', 'h', 0, 100 }, { 'b', 'a', 'B', 'q', 10, 20 },
		     { 'c', 'a', 'C', 'r', 30, 40 }),
		TREE({ 'a', 0, 'F', 'h', 0, 100 }, { 'b', 'a', 'B', 'p', 10, 20 },
		     { 'c', 'a', 'C', 'r', 30, 40 }),
		TREE({ 'a', 0, 'F', 'h', 0, 100 }, { 'b', 'a', 'C', 'r', 10, 20 },
		     { 'c', 'a', 'B', 'q', 30, 40 }),
		TREE({ 'a', 0, 'F', 'h', 0, 100 }, { 'b', 'a', 'B', 'q', 10, 40 },
		     { 'c', 'b', 'C', 'r', 20, 30 }),
		TREE({ 'a', 0, 'F', 'h', 0, 100 }, { 'b', 'a', 'B', 'q', 10, 20 }),
	};

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		CHECK(type.subtree != others[i].subtree);
		CHECK(type.folded != others[i].folded);
	}
}

TEST(a_type_is_the_same_on_every_host)
{
	CHECK(TREE({ 'a', 0, 'F', 'h', 0, 100 }, { 'b', 'a', 'B', 'q', 10, 20 }).subtree ==
	      0x340554aaec12f3a0ull);
}

TEST(concurrent_siblings_can_start_in_any_order)
{
	struct type type = TREE({ 'a', 0, 'F', 'h', 0, 100 }, { 'b', 'a', 'B', 'q', 10, 60 },
				{ 'c', 'a', 'C', 'r', 20, 50 }, { 'd', 'a', 'D', 's', 40, 80 });

	CHECK(is_same(type, TREE({ 'a', 0, 'F', 'h', 0, 100 }, { 'd', 'a', 'D', 's', 10, 60 },
				 { 'b', 'a', 'B', 'q', 20, 50 }, { 'c', 'a', 'C', 'r', 40, 80 })));
	/* of an overlap in turn: the first and the last do not overlap themselves */
	CHECK(is_same(type, TREE({ 'a', 0, 'F', 'h', 0, 100 }, { 'c', 'a', 'C', 'r', 10, 40 },
				 { 'b', 'a', 'B', 'q', 20, 60 }, { 'd', 'a', 'D', 's', 45, 80 })));
}

TEST(siblings_that_overlap_by_a_rounding_error_are_a_sequence)
{
	CHECK(!workflow_is_concurrent(0, 10000, 9000, 20000));
	CHECK(!workflow_is_concurrent(0, 100000, 95000, 200000));
	CHECK(workflow_is_concurrent(0, 100000, 80000, 200000));
	CHECK(workflow_is_concurrent(0, 10000, 5000, 5000));
	CHECK(!workflow_is_concurrent(0, 10000, 10000, 10000));
}

TEST(one_more_iteration_is_another_type_but_the_same_folded_type)
{
	struct type once = TREE({ 'a', 0, 'F', 'h', 0, 100 }, { 'b', 'a', 'B', 'q', 10, 20 },
				{ 'c', 'b', 'C', 'r', 12, 18 }, { 'd', 'a', 'D', 's', 80, 90 });
	struct type twice = TREE({ 'a', 0, 'F', 'h', 0, 100 }, { 'b', 'a', 'B', 'q', 10, 20 },
				 { 'c', 'b', 'C', 'r', 12, 18 }, { 'e', 'a', 'B', 'q', 30, 40 },
				 { 'f', 'e', 'C', 'r', 32, 34 }, { 'g', 'e', 'C', 'r', 36, 38 },
				 { 'd', 'a', 'D', 's', 80, 90 });

	CHECK(once.subtree != twice.subtree);
	CHECK(once.folded == twice.folded);
	CHECK(once.folded == once.subtree); /* nothing to fold */
}

TEST(concurrent_siblings_that_differ_in_iterations_are_folded)
{
	/* in whatever order their digests are, and that of another sibling */
	for (char other = 'A'; other <= 'Z'; other++)
		CHECK(TREE({ 'a', 0, 'F', 'h', 0, 100 }, { 'b', 'a', 'b', 'q', 10, 60 },
			   { 'c', 'b', 'C', 'r', 12, 18 }, { 'd', 'a', other, 's', 10, 60 },
			   { 'e', 'a', 'b', 'q', 10, 60 }, { 'f', 'e', 'C', 'r', 32, 34 },
			   { 'g', 'e', 'C', 'r', 36, 38 })
			      .folded ==
		      TREE({ 'a', 0, 'F', 'h', 0, 100 }, { 'b', 'a', 'b', 'q', 10, 60 },
			   { 'c', 'b', 'C', 'r', 12, 18 }, { 'd', 'a', other, 's', 10, 60 })
			      .folded);
}

TEST(positions_are_in_the_order_of_the_tree)
{
	const struct tree_span spans[] = {
		{ 'd', 'c', 'S', 'o', 40, 45 }, { 'a', 0, 'S', 'o', 0, 100 },
		{ 'c', 'a', 'S', 'o', 30, 60 }, { 'b', 'a', 'S', 'o', 10, 20 },
		{ 'e', 'c', 'S', 'o', 50, 55 }, { 'f', 'b', 'S', 'o', 12, 15 },
		{ 'g', 'a', 'S', 'o', 70, 80 },
	};

	check_order(spans, ARRAY_LEN(spans), "abfcdeg", "fbdecga");
}

TEST(types_do_not_depend_on_the_numbers_of_strings)
{
	const struct source source = { .get_string = get_string };
	const struct tree_span spans[] = { { 'a', 0, 'F', 'h', 0, 100 },
					   { 'b', 'a', 'B', 'q', 10, 20 } };
	_cleanup_(model_freep) struct model *model = model_new();
	_cleanup_(workflow_done) struct workflow flow = { 0 };

	model_add(model, &source,
		  REC(SPAN, span, 1, 0, .trace = { 2 }, .span = { 1 }, .service = 'q',
		      .operation = 'B'));
	for (size_t i = ARRAY_LEN(spans); i-- > 0;)
		model_add(model, &source,
			  REC(SPAN, span, spans[i].end * US, 0, .start = spans[i].start * US,
			      .trace = { 1 }, .span = { spans[i].id },
			      .parent = { spans[i].parent }, .service = spans[i].service,
			      .operation = spans[i].operation));
	model_finish(model);
	workflow_find(&flow, &(struct span_set){ .model = model }, (span_id){ 3 });
	CHECK(flow.nodes.items[0].subtree == type_of(spans, ARRAY_LEN(spans)).subtree);
}

static uint64_t name_of_address(const char *address, uint8_t source)
{
	_cleanup_(model_freep) struct model *model = model_new();
	_cleanup_(span_set_done) struct span_set spans = { .model = model };
	_cleanup_(workflow_done) struct workflow flow = { 0 };
	span_id id;

	model_finish(model);
	id = span_set_add(&spans, &(struct span){ .id = { 1 },
						  .operation = span_set_intern(&spans, address),
						  .source = source });
	span_set_finish(&spans);
	workflow_find(&flow, &spans, id);
	return flow.nodes.items[0].name;
}

TEST(rebuilt_requests_have_the_same_name_on_every_host)
{
	uint64_t name = name_of_address("10.0.0.1:80", SPAN_INFERRED);

	CHECK(name == name_of_address("10.0.0.2:80", SPAN_INFERRED));
	CHECK(name == name_of_address("[::1]:80", SPAN_INFERRED));
	CHECK(name != name_of_address("10.0.0.1:81", SPAN_INFERRED));
	CHECK(name != name_of_address("10.0.0.1:80", SPAN_SDK));
	CHECK(name != name_of_address("unix", SPAN_INFERRED));
	CHECK(name_of_address("127.0.0.1:40000", SPAN_INFERRED) ==
	      name_of_address("127.0.0.1:50000", SPAN_INFERRED));
}

TEST(a_handoff_within_an_instrumented_service_is_no_part)
{
	_cleanup_(model_freep) struct model *model = model_new();
	_cleanup_(span_set_done) struct span_set spans = { .model = model };
	_cleanup_(workflow_done) struct workflow flow = { 0 };
	struct span handoff = {
		.id = { 2 }, .parent_id = { 1 }, .source = SPAN_INFERRED, .kind = SPAN_INTERNAL
	};
	span_id root;

	model_finish(model);
	root = span_set_add(&spans, &(struct span){ .id = { 1 } });
	span_set_add(&spans, &handoff);
	handoff.id[0] = 3;
	span_set_add(&spans, &handoff); /* with a handoff and a call below it */
	memcpy(handoff.parent_id, handoff.id, sizeof(handoff.id));
	handoff.id[0] = 4;
	span_set_add(&spans, &handoff);
	handoff.id[0] = 5;
	handoff.kind = SPAN_SERVER;
	span_set_add(&spans, &handoff);
	span_set_finish(&spans);
	workflow_find(&flow, &spans, root);
	CHECK_INT(flow.nodes.count, 4);
	CHECK_INT(flow.nodes.items[0].size, 4);
	CHECK_INT(span_set_at(&spans, flow.nodes.items[1].span)->id[0], 3);
}

TEST(a_name_is_a_pair)
{
	const struct source source = { .get_string = get_string };
	_cleanup_(model_freep) struct model *model = model_new();
	_cleanup_(workflow_done) struct workflow flow = { 0 };
	uint64_t first;

	model_add(model, &source,
		  REC(SPAN, span, 1, 0, .trace = { 1 }, .span = { 1 }, .service = 'x'));
	model_add(model, &source,
		  REC(SPAN, span, 1, 0, .trace = { 2 }, .span = { 1 }, .operation = 'x'));
	model_finish(model);
	workflow_find(&flow, &(struct span_set){ .model = model }, (span_id){ 1 });
	first = flow.nodes.items[0].name;
	workflow_find(&flow, &(struct span_set){ .model = model }, (span_id){ 2 });
	CHECK(flow.nodes.items[0].name != first);
}
