/* SPDX-License-Identifier: Apache-2.0 */
/* Equal causes are added up, within a request and over requests. */
#include "analyse/causes.h"

#include "story.h"
#include "test.h"

/* Process 1 with its threads; thread 9 of process 9 runs. */
static struct story threads(uint32_t count)
{
	struct story s = { 0 };

	for (uint32_t tid = 1; tid <= count; tid++)
		story_add(&s, REC(TASK, task, 0, tid, .pid = 1, .event = TASK_EXISTING));
	return s;
}

static void sleeps(struct story *s, uint32_t tid, nsec_t from, nsec_t to)
{
	story_add(s, REC(WAIT, wait, to, tid, .start = from, .woken = to, .state = STATE_TIMER,
			 .ready = STATE_READY, .context = WAKE_HRTIMER, .syscall = 230));
}

static struct cause_sum sum_of(const struct model *model, const uint32_t *spans, size_t count)
{
	struct span_set set = { .model = model };
	struct cause_sum sum = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct account account;

		account_of_span_brief(&set, (span_id){ spans[i] }, &account);
		cause_sum_add(&sum, &set, &account);
		account_done(&account);
	}
	cause_sum_finish(&sum);
	return sum;
}

TEST(sleeps_of_two_threads_in_two_requests_are_one_cause)
{
	_cleanup_(story_done) struct story s = threads(2);

	story_run(&s, 1, 0, 10);
	sleeps(&s, 1, 10, 50);
	story_run(&s, 2, 0, 20);
	sleeps(&s, 2, 20, 50);
	story_span(&s, 0, 50, 1, 0, 1);
	s.trace = 2;
	story_span(&s, 0, 50, 2, 0, 2);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(cause_sum_done) struct cause_sum sum = sum_of(model, (uint32_t[]){ 1, 2 }, 2);

	CHECK_INT(sum.total, 100);
	CHECK_INT(sum.groups.count, 2);
	CHECK_INT(sum.groups.items[0].time, 70);
	CHECK_INT(sum.groups.items[0].requests, 2);
	CHECK(sum.groups.items[0].several);
	CHECK_INT(sum.groups.items[0].longest, 40);
	CHECK_INT(sum.groups.items[1].time, 30);
}

/* A request of 1 ns with `count` calls of the same operation, 10 ns each, and a sleep in each. */
static void check_calls(int count, bool is_pattern)
{
	_cleanup_(story_done) struct story s = threads(1);
	nsec_t t = 0;

	for (int i = 0; i < count; i++, t += 14) {
		story_run(&s, 1, t, t + 4);
		story_run(&s, 1, t + 4, t + 9);
		sleeps(&s, 1, t + 9, t + 14);
		story_add(&s,
			  REC(SPAN, span, t + 14, 1, .start = t + 4, .service = 20, .operation = 21,
			      .trace = { 1 }, .span = { 100 + i }, .parent = { 1 }));
	}
	story_span(&s, 0, t, 1, 0, 1);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	struct span_set set = { .model = model };
	uint32_t root = 0;

	for (uint32_t i = 1; i < span_set_count(&set); i++)
		if (!span_set_at(&set, (span_id){ i })->parent.i)
			root = i;

	_cleanup_(cause_sum_done) struct cause_sum sum = sum_of(model, &root, 1);

	CHECK_INT(sum.groups.items[0].is_pattern, is_pattern);
	for (size_t i = 1; i < sum.groups.count; i++)
		CHECK(!sum.groups.items[i].is_pattern);
}

TEST(many_equal_calls_are_a_pattern)
{
	check_calls(12, true);
}

TEST(a_few_equal_calls_are_no_pattern)
{
	check_calls(4, false);
}
