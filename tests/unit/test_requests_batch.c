/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event loops that do not act at once for what they read last, and work-stealing runtimes, in the
 * notation of scenario.h.  Thread 1 is the loop.  Clients use connections a, b and c; for them the
 * loop calls threads 2, 3 and 4 over x, y and z.
 */
#include "scenario.h"
#include "test.h"

#define LOOP "process 1 5; process 2; process 3; process 4;"

/* As haproxy does: both requests, both calls, both replies; and only then the next. */
#define BATCH \
	"0 1 gets a; 1 1 gets b; 2 1 calls x 2; 6 1 calls y 3; 10-20 1 polls;" \
	"21 1 reads x; 22 1 reads y; 23 1 replies a; 24 1 replies b; 25-30 1 polls"

/* The loop reads both replies, whose calls have a known owner, and replies in the same order. */
#define IN_ORDER \
	"0 1 gets a; 1 1 calls x 2; 5-10 1 polls; 11 1 gets b; 12 1 calls y 3; 16-20 1 polls;" \
	"21 1 reads x; 22 1 reads y; 23 1 replies a; 24 1 replies b; 25-30 1 polls"

TEST(a_call_after_two_requests_were_read_at_once_has_no_parent)
{
	_cleanup_(scenario_done) struct scenario s = { 0 };

	scenario_add(&s, 0, LOOP);
	scenario_add(&s, 100, BATCH);
	scenario_check_trees(&s, "1 1 ?2 ?3");
}

TEST(a_loop_that_keeps_the_order_of_its_reads_is_recognised)
{
	_cleanup_(scenario_done) struct scenario s = { 0 };

	scenario_add(&s, 0, LOOP);
	scenario_add(&s, 100, IN_ORDER);
	scenario_add(&s, 200, BATCH);
	scenario_check_trees(&s, "1(2) 1(3) 1(2) 1(3)");
}

/* a and b sleep; c is read, the loop calls and reads the reply.  Then it replies to a. */
#define REPLIES_TO_SLEEPER \
	"0 1 gets a; 1-5 1 polls; 6 1 gets b; 7-10 1 polls; 11 1 gets c; 12 1 calls z 4;" \
	"15 1 reads z; 16 1 replies a; 17-20 1 polls; 21 1 replies b; 22 1 replies c; 23-30 1 " \
	"polls"

TEST(a_call_has_no_parent_if_the_read_before_it_contradicts_the_reply_after_it)
{
	_cleanup_(scenario_done) struct scenario s = { 0 };

	scenario_add(&s, 0, LOOP);
	scenario_add(&s, 100, REPLIES_TO_SLEEPER);
	scenario_check_trees(&s, "1 1 1 ?4");
}

/* Two requests sleep, and call when their timers fire: the loop has read nothing before. */
#define CALLS_AFTER_TIMERS \
	"0 1 gets a; 1 1 gets b;" \
	"2-10 1 polls; 11 1 calls x 2; 12-15 1 polls; 16 1 reads x; 17 1 replies a;" \
	"22-30 1 polls; 31 1 calls y 3; 32-35 1 polls; 36 1 reads y; 37 1 replies b; 40-50 1 " \
	"polls"

TEST(the_reply_decides_in_a_loop_whose_calls_follow_timers)
{
	_cleanup_(scenario_done) struct scenario s = { 0 };

	scenario_add(&s, 0, LOOP);
	scenario_add(&s, 100, CALLS_AFTER_TIMERS);
	scenario_add(&s, 200, REPLIES_TO_SLEEPER);
	scenario_check_trees(&s, "1(2) 1(3) 1(4) 1 1");
}

TEST(a_loop_with_one_request_calls_for_it_over_a_connection_opened_before)
{
	scenario_check(LOOP "50 1 connects x; 100 1 gets a; 101 1 calls x 2; 105 1 reads x;"
			    "106 1 replies a",
		       "1(2)");
}

/* The parent of thread 2's only span has this confidence. */
static void check_confidence(const struct scenario *s, float want)
{
	_cleanup_(model_freep) struct model *model = story_model(&s->story);
	_cleanup_(requests_done) struct requests r;

	requests_find(model, &r);
	for (uint32_t i = 1; i < r.spans.count; i++)
		if (model_thread(model, r.spans.items[i].thread)->tid == 2)
			CHECK(r.spans.items[i].confidence == want);
}

/* As in Go: threads 1 and 5 both read, and each continues with what the other has read. */
TEST(no_parent_is_certain_in_a_work_stealing_runtime)
{
	_cleanup_(scenario_done) struct scenario s = { 0 };

	scenario_add(&s, 0, LOOP "100 1 gets a; 101 1 calls x 2; 105 1 reads x; 106 1 replies a");
	check_confidence(&s, 1);
	scenario_add(&s, 0, "110 1 gets b; 111 5 gets c; 112 5 replies b; 113 1 replies c");
	check_confidence(&s, 0.95f);
}
