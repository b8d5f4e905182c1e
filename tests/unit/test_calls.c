/* SPDX-License-Identifier: Apache-2.0 */
/* System calls of spans: which span has which, and as what. */
#include "annotate/calls.h"

#include "annotate/waits.h"
#include "build.h"
#include "story.h"
#include "test.h"

enum { OUTER = 7, INNER = 8, OTHER = 9, GETPID = 39, FSYNC = 74, READ = 0, MANY = 1009 };

static void story_call(struct story *s, uint32_t tid, nsec_t start, nsec_t end, int16_t nr,
		       int64_t result)
{
	story_add(s, REC(SYSCALL, syscall, end, tid, .start = start, .nr = nr, .result = result));
}

static void story_wait_in(struct story *s, uint32_t tid, nsec_t start, nsec_t end, int16_t nr)
{
	story_add(s, REC(WAIT, wait, end, tid, .start = start, .woken = end, .state = STATE_DISK,
			 .ready = STATE_READY, .syscall = nr));
}

static struct calls calls_of(const struct model *model, uint8_t span)
{
	struct span_set spans = { .model = model };
	struct calls calls;

	calls_find(&spans, story_find_span(model, span), &calls);
	return calls;
}

#define CHECK_CALL(item, n, number, from, to, sum) \
	do { \
		const struct call *call_ = (item); \
\
		CHECK_INT(call_->nr, number); \
		CHECK_INT(call_->count, n); \
		CHECK_INT(call_->start, from); \
		CHECK_INT(call_->end, to); \
		CHECK_INT(call_->time, sum); \
	} while (0)

/* Thread 1 makes calls in a span, in one inside of it, and afterwards. */
static void tell_nested(struct story *s)
{
	story_begin(s, 1, 0);
	story_run(s, 1, 0, 200);
	story_call(s, 1, 5, 6, GETPID, 1);
	story_call(s, 1, 11, 13, GETPID, 1);
	story_call(s, 1, 14, 16, GETPID, 1);
	story_call(s, 1, 32, 35, GETPID, 1);
	story_call(s, 1, 61, 62, GETPID, 1);
	story_call(s, 1, 90, 120, GETPID, 1);
	story_call(s, 1, 130, 131, GETPID, 1);
	story_span(s, 10, 100, OUTER, 0, 1);
	story_span(s, 30, 60, INNER, OUTER, 1);
}

static void check_nested(const struct model *model)
{
	_cleanup_(calls_done) struct calls outer = calls_of(model, OUTER);
	_cleanup_(calls_done) struct calls inner = calls_of(model, INNER);

	CHECK_INT(outer.items.count, 2);
	CHECK_CALL(&outer.items.items[0], 2, GETPID, 11, 16, 4);
	CHECK_CALL(&outer.items.items[1], 2, GETPID, 61, 100, 11); /* cut at the end */
	CHECK_INT(inner.items.count, 1);
	CHECK_CALL(&inner.items.items[0], 1, GETPID, 32, 35, 3);
}

TEST(a_call_belongs_to_the_innermost_span_by_contexts)
{
	_cleanup_(story_done) struct story s = { 0 };

	tell_nested(&s);
	story_context(&s, 1, 10, OUTER);
	story_context(&s, 1, 30, INNER);
	story_context(&s, 1, 60, OUTER);
	story_context(&s, 1, 100, 0);

	_cleanup_(model_freep) struct model *model = story_model(&s);

	check_nested(model);
}

TEST(a_call_belongs_to_the_innermost_span_of_a_thread_without_contexts)
{
	_cleanup_(story_done) struct story s = { 0 };

	tell_nested(&s);

	_cleanup_(model_freep) struct model *model = story_model(&s);

	check_nested(model);
}

TEST(a_call_belongs_to_the_innermost_span_that_was_never_entered)
{
	_cleanup_(story_done) struct story s = { 0 };

	tell_nested(&s);
	story_context(&s, 1, 10, OUTER);
	story_context(&s, 1, 100, 0);

	_cleanup_(model_freep) struct model *model = story_model(&s);

	check_nested(model);
}

TEST(a_call_before_the_first_known_context_belongs_to_the_innermost_span)
{
	_cleanup_(story_done) struct story s = { 0 };

	tell_nested(&s);
	story_context(&s, 1, 58, INNER); /* the recorder attached late */
	story_context(&s, 1, 60, OUTER);
	story_context(&s, 1, 100, 0);

	_cleanup_(model_freep) struct model *model = story_model(&s);

	check_nested(model);
}

TEST(calls_of_all_threads_in_a_span_are_its_calls)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_begin(&s, 2, 0);
	story_run(&s, 1, 0, 200);
	story_run(&s, 2, 0, 200);
	story_call(&s, 1, 20, 21, GETPID, 1);
	story_call(&s, 2, 20, 21, GETPID, 1);
	story_call(&s, 2, 50, 51, GETPID, 1); /* works for another span */
	story_span(&s, 10, 100, OUTER, 0, 1);
	story_span(&s, 10, 100, OTHER, 0, 2);
	story_context(&s, 1, 10, OUTER);
	story_context(&s, 2, 10, OUTER);
	story_context(&s, 2, 40, OTHER);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(calls_done) struct calls outer = calls_of(model, OUTER);
	_cleanup_(calls_done) struct calls other = calls_of(model, OTHER);

	CHECK_INT(outer.items.count, 2);
	CHECK_INT(other.items.count, 1);
	CHECK_INT(other.items.items[0].start, 50);
}

TEST(only_adjacent_calls_with_the_same_name_and_error_are_one)
{
	static const struct {
		int16_t nr;
		int64_t result;
	} made[] = { { READ, 10 }, { READ, 20 }, { READ, -11 }, { READ, -11 },
		     { READ, -4 }, { READ, 0 },  { GETPID, 0 }, { READ, 0 } };
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_run(&s, 1, 0, 200);
	for (size_t i = 0; i < ARRAY_LEN(made); i++)
		story_call(&s, 1, 10 + 2 * i, 11 + 2 * i, made[i].nr, made[i].result);
	story_span(&s, 0, 100, OUTER, 0, 1);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(calls_done) struct calls calls = calls_of(model, OUTER);

	CHECK_INT(calls.items.count, 6);
	CHECK_CALL(&calls.items.items[0], 2, READ, 10, 13, 2);
	CHECK_INT(calls.items.items[0].least, 10);
	CHECK_INT(calls.items.items[0].most, 20);
	CHECK_CALL(&calls.items.items[1], 2, READ, 14, 17, 2);
	CHECK_INT(calls.items.items[1].most, -11);
	CHECK_INT(calls.items.items[2].most, -4);
}

/* fsync waits for the disk, and a read does not wait, `MANY` times. */
static struct model *sync_and_read(bool has_calls)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	for (nsec_t i = 0; i < MANY; i++) {
		nsec_t t = 1000 * i;

		story_run(&s, 1, t, t + 100);
		story_wait_in(&s, 1, t + 100, t + 500 + i % 7, FSYNC);
		story_run(&s, 1, t + 500 + i % 7, t + 1000);
		if (has_calls)
			story_call(&s, 1, t + 90, t + 600, FSYNC, 0);
		if (has_calls)
			story_call(&s, 1, t + 700, t + 710, READ, 0);
	}
	story_span(&s, 0, 1000 * MANY, OUTER, 0, 1);
	return story_model(&s);
}

TEST(a_wait_in_a_recorded_call_is_part_of_it)
{
	_cleanup_(model_freep) struct model *model = sync_and_read(true);
	struct span_set spans = { .model = model };
	_cleanup_(calls_done) struct calls calls = calls_of(model, OUTER);
	_cleanup_(waits_done) struct waits waits = { 0 };

	CHECK_INT(calls.items.count, 2 * MANY);
	waits_find(&spans, story_find_span(model, OUTER), &calls, 64, &waits);
	CHECK_INT(waits.items.count, 64);
	CHECK_INT(waits.omitted, 0);
	CHECK_INT(waits.calls_omitted, 2 * MANY - 64);
	for (size_t i = 0; i < waits.items.count; i++) {
		const struct wait *wait = &waits.items.items[i];

		CHECK_INT(wait->call.nr, FSYNC); /* the longest are kept */
		CHECK_INT(wait->parent, 0);
		CHECK_INT(wait->longest.state, STATE_DISK);
		CHECK_INT(wait->call_waits, wait->longest.end - wait->longest.start);
	}
}

TEST(without_calls_the_same_waits_are_one)
{
	_cleanup_(model_freep) struct model *model = sync_and_read(false);
	struct span_set spans = { .model = model };
	_cleanup_(calls_done) struct calls calls = calls_of(model, OUTER);
	_cleanup_(waits_done) struct waits waits = { 0 };

	CHECK_INT(calls.items.count, 0);
	waits_find(&spans, story_find_span(model, OUTER), &calls, 64, &waits);
	CHECK_INT(waits.items.count, 1);
	CHECK_INT(waits.items.items[0].count, MANY);
}

TEST(a_wait_for_a_cpu_in_a_call_is_below_it)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_run(&s, 1, 0, 20);
	story_wait_in(&s, 1, 20, 60, FSYNC);
	story_add(&s, REC(WAIT, wait, 90, 1, .start = 60, .woken = 60, .state = STATE_READY,
			  .ready = STATE_READY, .syscall = SYSCALL_NONE));
	story_run(&s, 1, 90, 200);
	story_call(&s, 1, 15, 95, FSYNC, 0);
	story_span(&s, 10, 100, OUTER, 0, 1);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	struct span_set spans = { .model = model };
	_cleanup_(calls_done) struct calls calls = calls_of(model, OUTER);
	_cleanup_(waits_done) struct waits waits = { 0 };

	waits_find(&spans, story_find_span(model, OUTER), &calls, 64, &waits);
	CHECK_INT(waits.items.count, 2);
	CHECK_INT(waits.items.items[0].call.nr, FSYNC);
	CHECK_INT(waits.items.items[0].call_waits, 40);
	CHECK_INT(waits.items.items[1].longest.state, STATE_READY);
	CHECK_INT(waits.items.items[1].parent, 1);
}

TEST(of_very_many_calls_the_longest_are_kept_and_the_others_counted)
{
	_cleanup_(story_done) struct story s = { 0 };
	enum { CALLS = 2 * CALLS_MAX };

	story_begin(&s, 1, 0);
	story_run(&s, 1, 0, 10ull * CALLS);
	for (nsec_t i = 0; i < CALLS; i++)
		story_call(&s, 1, 10 * i, 10 * i + (i % 1000 == 3 ? 9 : 1), i % 2 ? READ : GETPID,
			   0);
	story_span(&s, 0, 10ull * CALLS, OUTER, 0, 1);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	_cleanup_(calls_done) struct calls calls = calls_of(model, OUTER);
	size_t longest = 0, previous = 0;

	CHECK(calls.items.count <= CALLS_MAX);
	CHECK_INT(calls.items.count + calls.omitted, CALLS);
	for (size_t i = 0; i < calls.items.count; i++) {
		longest += calls.items.items[i].time == 9;
		CHECK(calls.items.items[i].start >= previous);
		previous = calls.items.items[i].start;
	}
	CHECK_INT(longest, (CALLS + 996) / 1000);
}
