/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios in milliseconds, with spans beside them.  Threads are processes of their own, unless
 * a scenario declares otherwise.
 */
#include "analyse/requests/spans.h"
#include "scenario.h"
#include "test.h"

#define MS "000000"

static const nsec_t ms = 1000000;

struct joined_test {
	struct scenario scenario;
	struct model *model;
	struct requests requests;
	struct span_join join;
	struct span_set spans;
};

static void test_done(struct joined_test *t)
{
	span_set_done(&t->spans);
	span_join_done(&t->join);
	requests_done(&t->requests);
	model_free(t->model);
	scenario_done(&t->scenario);
}

static void add_span(struct joined_test *t, nsec_t start, nsec_t end, uint8_t id, uint8_t parent)
{
	story_span(&t->scenario.story, start, end, id, parent, 0);
}

/* A span with the pid of its process. */
static void add_span_of(struct joined_test *t, uint32_t pid, nsec_t start, nsec_t end, uint8_t id)
{
	story_add(&t->scenario.story,
		  REC(SPAN, span, end, 0, .start = start, .trace = { id }, .span = { id },
		      .service = 20, .pid = pid, .kind = SPAN_SERVER));
}

static void join_all(struct joined_test *t)
{
	t->model = story_model(&t->scenario.story);
	requests_find(t->model, &t->requests);
	span_join_find(t->model, &t->requests, 0, &t->join);
	t->spans.model = t->model;
	request_spans_add(&t->requests, &t->join, &t->spans);
}

static const struct span *span_of(const struct joined_test *t, uint8_t id)
{
	return span_set_at(&t->spans, story_find_span(t->model, id));
}

static uint32_t tid_of(const struct joined_test *t, uint8_t id)
{
	return model_thread(t->model, span_of(t, id)->thread)->tid;
}

TEST(a_span_gets_the_thread_and_the_times_of_its_request)
{
	_cleanup_(test_done) struct joined_test t = { 0 };

	scenario_add(&t.scenario, 0, "process 1; 10" MS " 1 gets a; 30" MS " 1 replies a");
	add_span(&t, 12 * ms, 29 * ms, 1, 0);
	join_all(&t);
	CHECK_INT(t.join.count, 1);
	CHECK_INT(tid_of(&t, 1), 1);
	CHECK_INT(span_of(&t, 1)->read, 10 * ms);
	CHECK_INT(span_of(&t, 1)->arrival, 10 * ms);
	CHECK_INT(span_of(&t, 1)->end, 30 * ms);
	CHECK_INT(span_set_count(&t.spans), 2); /* the request has no span of its own */
}

TEST(a_span_outside_of_all_requests_is_not_joined)
{
	_cleanup_(test_done) struct joined_test t = { 0 };

	scenario_add(&t.scenario, 0, "process 1; 10" MS " 1 gets a; 30" MS " 1 replies a");
	add_span(&t, 5 * ms, 29 * ms, 1, 0);
	add_span(&t, 12 * ms, 39 * ms, 2, 0);
	join_all(&t);
	CHECK_INT(t.join.count, 0);
	CHECK_INT(span_set_count(&t.spans), 4);
}

TEST(requests_at_the_same_time_are_told_apart_by_their_begin_or_end)
{
	_cleanup_(test_done) struct joined_test t = { 0 };

	/* a queue of jobs: each span begins late and ends with its reply */
	scenario_add(&t.scenario, 0,
		     "process 1 2 3; 10" MS " 1 gets a; 11" MS " 2 gets b; 12" MS " 3 gets c;"
		     "20" MS " 1 replies a; 30" MS " 2 replies b; 40" MS " 3 replies c");
	add_span_of(&t, 1, 13 * ms, 20 * ms - 1000, 1);
	add_span_of(&t, 1, 21 * ms, 30 * ms - 1000, 2);
	add_span_of(&t, 1, 31 * ms, 40 * ms - 1000, 3);
	join_all(&t);
	CHECK_INT(t.join.count, 3);
	CHECK_INT(tid_of(&t, 1), 1);
	CHECK_INT(tid_of(&t, 2), 2);
	CHECK_INT(tid_of(&t, 3), 3);
}

TEST(a_span_that_fits_two_requests_is_not_joined)
{
	_cleanup_(test_done) struct joined_test t = { 0 };

	scenario_add(&t.scenario, 0,
		     "process 1 2; 10" MS " 1 gets a; 10" MS " 2 gets b;"
		     "20" MS " 1 replies a; 20" MS " 2 replies b");
	add_span_of(&t, 1, 12 * ms, 18 * ms, 1);
	join_all(&t);
	CHECK_INT(t.join.count, 0);
}

TEST(a_span_of_another_process_is_not_joined)
{
	_cleanup_(test_done) struct joined_test t = { 0 };

	scenario_add(&t.scenario, 0,
		     "process 1; process 2; 10" MS " 1 gets a; 30" MS " 1 replies a;"
		     "50" MS " 2 gets b; 60" MS " 2 replies b");
	add_span_of(&t, 2, 11 * ms, 29 * ms, 1);
	join_all(&t);
	CHECK_INT(t.join.count, 0);
}

TEST(a_call_is_below_the_innermost_span_around_it)
{
	_cleanup_(test_done) struct joined_test t = { 0 };

	scenario_add(&t.scenario, 0,
		     "process 1; process 2; 10" MS " 1 gets a; 20" MS " 1 calls b;"
		     "21" MS " 2 takes b; 25" MS " 2 replies b; 26" MS " 1 reads b;"
		     "40" MS " 1 replies a");
	add_span(&t, 10 * ms, 40 * ms, 1, 0);
	add_span(&t, 12 * ms, 35 * ms, 2, 1);
	add_span(&t, 19 * ms, 27 * ms, 3, 2);
	add_span(&t, 28 * ms, 30 * ms, 4, 2);
	join_all(&t);
	CHECK_INT(t.join.count, 1);

	const struct span *callee = span_set_at(&t.spans, span_of(&t, 3)->first_child);

	CHECK_INT(callee->source, SPAN_INFERRED);
	CHECK_INT(model_thread(t.model, callee->thread)->tid, 2);
	CHECK(memcmp(callee->trace, span_of(&t, 1)->trace, sizeof(callee->trace)) == 0);
	CHECK_INT(span_of(&t, 2)->first_child.i, story_find_span(t.model, 3).i);
}

/* As a commit shortly after a query. */
TEST(a_call_after_the_end_of_a_span_is_not_below_it)
{
	_cleanup_(test_done) struct joined_test t = { 0 };

	scenario_add(&t.scenario, 0,
		     "process 1; process 2; 10" MS " 1 gets a; 20" MS " 1 calls b;"
		     "20010000 2 takes b; 20020000 2 replies b; 21" MS " 1 reads b;"
		     "40" MS " 1 replies a");
	add_span(&t, 10 * ms, 40 * ms, 1, 0);
	add_span(&t, 12 * ms, 20 * ms - 20000, 2, 1);
	join_all(&t);
	CHECK_INT(t.join.count, 1);
	CHECK_INT(span_of(&t, 2)->first_child.i, 0);
	CHECK_INT(span_set_at(&t.spans, span_of(&t, 2)->next)->source, SPAN_INFERRED);
}

TEST(a_proxy_is_above_the_spans_of_its_service)
{
	_cleanup_(test_done) struct joined_test t = { 0 };

	scenario_add(&t.scenario, 0,
		     "process 1; process 2; 10" MS " 1 gets a; 11" MS " 1 calls b;"
		     "12" MS " 2 takes b; 38" MS " 2 replies b; 39" MS " 1 reads b;"
		     "40" MS " 1 replies a");
	add_span(&t, 13 * ms, 37 * ms, 1, 0);
	join_all(&t);
	CHECK_INT(t.join.count, 1);
	CHECK_INT(tid_of(&t, 1), 2);

	const struct span *proxy = span_set_at(&t.spans, span_of(&t, 1)->parent);

	CHECK_INT(model_thread(t.model, proxy->thread)->tid, 1);
	CHECK_INT(proxy->parent.i, 0);
	CHECK(memcmp(proxy->trace, span_of(&t, 1)->trace, sizeof(proxy->trace)) == 0);
}

TEST(times_at_the_end_of_the_clock_join_nothing)
{
	_cleanup_(test_done) struct joined_test t = { 0 };

	scenario_add(&t.scenario, 0, "process 1; 10" MS " 1 gets a; 30" MS " 1 replies a");
	add_span(&t, 0, UINT64_MAX - 1, 1, 0);
	add_span(&t, UINT64_MAX - 2, UINT64_MAX - 1, 2, 0);
	join_all(&t);
	CHECK_INT(t.join.count, 0);
}
