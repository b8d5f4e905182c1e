/* SPDX-License-Identifier: Apache-2.0 */
/* The stack of a span when it passed its threshold. */
#include "annotate/threshold_stack.h"

#include "story.h"
#include "test.h"

enum { SPAN = 7, WAIT_STACK = 1, SAMPLE_STACK = 2, LATE_STACK = 3 };

static void wait_with_stack(struct story *s, nsec_t start, nsec_t end, uint32_t stack)
{
	story_add(s, REC(WAIT, wait, end, 1, .start = start, .woken = end, .state = STATE_TIMER,
			 .ready = STATE_READY, .syscall = SYSCALL_NONE, .stack = stack));
}

/* Runs to 20, waits to 40, runs to 60 with a sample at 50, waits shortly, and with a stack at 80.
 */
static struct model *running_and_blocked(void)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	for (uint32_t i = 1; i <= LATE_STACK; i++)
		story_add(&s, REC(STACK, stack, 1, 0, .stack = i));
	story_run(&s, 1, 0, 20);
	wait_with_stack(&s, 20, 40, WAIT_STACK);
	story_run(&s, 1, 40, 60);
	story_add(&s, REC(SAMPLE, sample, 50, 1, .stack = SAMPLE_STACK));
	wait_with_stack(&s, 60, 65, 0);
	story_run(&s, 1, 65, 80);
	wait_with_stack(&s, 80, 90, LATE_STACK);
	story_run(&s, 1, 90, 120);
	story_add(&s, REC(SAMPLE, sample, 110, 1, .stack = SAMPLE_STACK));
	story_span(&s, 10, 100, SPAN, 0, 1);
	return story_model(&s);
}

TEST(the_stack_at_a_time_is_that_of_the_wait_or_of_the_next_sample_or_wait)
{
	static const struct {
		nsec_t from, time;
		bool is_running;
	} cases[] = {
		{ 10, 20, false }, { 20, 20, false }, { 30, 30, false },
		{ 39, 39, false }, { 40, 50, true },  { 50, 50, true },
		{ 51, 80, false }, { 62, 80, false }, { 89, 89, false },
	};
	_cleanup_(model_freep) struct model *model = running_and_blocked();
	struct span_set spans = { .model = model };
	span_id span = story_find_span(model, SPAN);
	struct threshold_stack found;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CHECK(threshold_stack_find(&spans, span, cases[i].from, &found));
		CHECK_INT(found.time, cases[i].time);
		CHECK_INT(found.is_running, cases[i].is_running);
		CHECK(found.stack);
	}
}

TEST(a_sample_after_the_span_is_not_its_stack)
{
	_cleanup_(model_freep) struct model *model = running_and_blocked();
	struct span_set spans = { .model = model };
	span_id span = story_find_span(model, SPAN);
	struct threshold_stack found;

	CHECK(!threshold_stack_find(&spans, span, 90, &found));
	CHECK(!threshold_stack_find(&spans, span, 100, &found));
	CHECK(!threshold_stack_find(&spans, span, UINT64_MAX, &found));
}
