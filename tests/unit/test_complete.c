/* SPDX-License-Identifier: Apache-2.0 */
/* When a span that ended can be annotated. */
#include "annotate/complete.h"

#include "story.h"
#include "test.h"

enum { SPAN = 7, CHILD = 8, START = 10, WOKEN = 50, END = 100, LATER = 120 };

/*
 * An exported span, which names no thread.  Thread 1 works for it, and gets the CPU for its last
 * slice; thread 2 shows that time goes on.
 */
static void exported_span(struct story *s)
{
	story_begin(s, 1, 0);
	story_begin(s, 2, 0);
	story_context(s, 1, START, SPAN);
	story_wait(s, 1, START, WOKEN, STATE_TIMER, 0);
	story_run(s, 2, 0, LATER);
	story_span(s, START, END, SPAN, 0, 0);
}

static bool is_complete(const struct story *s, nsec_t until)
{
	_cleanup_(model_freep) struct model *model = story_model(s);

	return span_is_complete(model, story_find_span(model, SPAN), until);
}

TEST(a_span_waits_for_the_slice_of_the_thread_that_ends_it)
{
	_cleanup_(story_done) struct story s = { 0 };

	exported_span(&s);
	CHECK(!is_complete(&s, END - 1));
	CHECK(!is_complete(&s, LATER));
	story_run(&s, 1, WOKEN, LATER);
	CHECK(is_complete(&s, LATER));
	CHECK(!is_complete(&s, END - 1));
}

TEST(a_span_does_not_wait_longer_for_a_thread_that_runs_on)
{
	_cleanup_(story_done) struct story s = { 0 };

	exported_span(&s);
	CHECK(!is_complete(&s, END + COMPLETE_GRACE - 1));
	CHECK(is_complete(&s, END + COMPLETE_GRACE));
}

TEST(a_span_waits_for_a_thread_that_left_it_in_its_last_slice)
{
	_cleanup_(story_done) struct story s = { 0 };

	exported_span(&s);
	story_context(&s, 1, END - 1, 0);
	CHECK(!is_complete(&s, LATER));
}

TEST(a_span_waits_for_a_thread_in_a_child_span)
{
	_cleanup_(story_done) struct story s = { 0 };

	exported_span(&s);
	story_context(&s, 1, START + 1, CHILD);
	story_span(&s, START + 1, END - 1, CHILD, SPAN, 0);
	CHECK(!is_complete(&s, LATER));
}

TEST(a_span_does_not_wait_for_a_thread_that_is_blocked_or_works_for_another_span)
{
	_cleanup_(story_done) struct story blocked = { 0 }, other = { 0 };

	exported_span(&blocked);
	story_run(&blocked, 1, WOKEN, END - 20); /* another thread ends the span */
	CHECK(is_complete(&blocked, LATER));
	exported_span(&other);
	story_context(&other, 1, WOKEN - 1, SPAN + 10);
	CHECK(is_complete(&other, LATER));
}

TEST(a_span_waits_for_its_own_thread_even_if_it_is_blocked)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_run(&s, 1, 0, WOKEN);
	story_span(&s, START, END, SPAN, 0, 1);
	CHECK(!is_complete(&s, LATER));
	CHECK(is_complete(&s, END + COMPLETE_GRACE));
	story_wait(&s, 1, WOKEN, LATER, STATE_TIMER, 0);
	CHECK(is_complete(&s, LATER));
}
