/* SPDX-License-Identifier: Apache-2.0 */
/* Which verbs the switch of system calls sends to a recorder, which these functions replace. */
#include "annotate/syscall_switch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "record/verb.h"
#include "story.h"
#include "test.h"

enum { PROCESSES = 100, SPAN = 1 };

static struct {
	unsigned int number; /* 0: no recorder runs */
	bool is_busy;
	bool is_on[PROCESSES + 1]; /* by process; 0: all */
	unsigned int verbs;
} recorder;

unsigned int live_recorder(const struct live *live)
{
	(void)live;
	return recorder.number;
}

int live_verb(struct live *live, const struct verb_message *message)
{
	struct err err;

	(void)live;
	CHECK_INT(verb_check(message, &err), 0);
	if (recorder.is_busy)
		return -EAGAIN;
	CHECK(message->verb == (message->pid ? VERB_SYSCALLS : VERB_SYSCALLS_ALL));
	recorder.is_on[message->pid] = message->value;
	recorder.verbs++;
	return 0;
}

static void start_recorder(unsigned int number)
{
	memset(&recorder, 0, sizeof(recorder));
	recorder.number = number;
}

/* Span n is of process n. */
static struct model *make_spans(void)
{
	_cleanup_(story_done) struct story s = { 0 };

	for (uint32_t i = 1; i <= PROCESSES; i++) {
		story_begin(&s, i, 0);
		story_run(&s, i, 0, 200);
		story_span(&s, 10, 100, i, 0, i);
	}
	return story_model(&s);
}

static void add_slow(struct syscall_switch *s, const struct model *model, uint8_t span, int count,
		     nsec_t now)
{
	struct span_set spans = { .model = model };

	for (int i = 0; i < count; i++)
		syscall_switch_slow(s, &spans, story_find_span(model, span), now);
}

TEST(a_process_is_on_after_three_slow_spans_and_off_ten_seconds_after_the_last)
{
	_cleanup_(model_freep) struct model *model = make_spans();
	_cleanup_(syscall_switch_freep) struct syscall_switch *s =
		syscall_switch_new(SWITCH_WHEN_SLOW);
	struct switch_state state;

	start_recorder(1);
	add_slow(s, model, SPAN, 2, 100 * NSEC_PER_SEC);
	syscall_switch_run(s, NULL, 100 * NSEC_PER_SEC);
	CHECK_INT(recorder.verbs, 0);
	add_slow(s, model, SPAN, 1, 109 * NSEC_PER_SEC);
	syscall_switch_run(s, NULL, 109 * NSEC_PER_SEC);
	CHECK(recorder.is_on[SPAN]);
	syscall_switch_get_state(s, &state);
	CHECK_INT(state.pid_count, 1);
	CHECK_INT(state.pids[0], SPAN);
	add_slow(s, model, SPAN, 1, 115 * NSEC_PER_SEC);
	syscall_switch_run(s, NULL, 124 * NSEC_PER_SEC);
	CHECK(recorder.is_on[SPAN]);
	syscall_switch_run(s, NULL, 125 * NSEC_PER_SEC);
	CHECK(!recorder.is_on[SPAN]);
	CHECK_INT(recorder.verbs, 2);
	syscall_switch_get_state(s, &state);
	CHECK_INT(state.pid_count, 0);
	CHECK_INT(state.switched, 1);
}

TEST(slow_spans_of_different_operations_or_far_apart_do_not_add_up)
{
	_cleanup_(model_freep) struct model *model = make_spans();
	_cleanup_(syscall_switch_freep) struct syscall_switch *s =
		syscall_switch_new(SWITCH_WHEN_SLOW);

	start_recorder(1);
	for (int i = 0; i < 20; i++) {
		nsec_t now = (100 + 6 * i) * NSEC_PER_SEC;

		add_slow(s, model, 1 + i % 20, 1, now);
		add_slow(s, model, 50, 1, now);
		syscall_switch_run(s, NULL, now);
	}
	CHECK_INT(recorder.verbs, 0);
}

TEST(a_new_recorder_gets_the_verbs_again)
{
	_cleanup_(model_freep) struct model *model = make_spans();
	_cleanup_(syscall_switch_freep) struct syscall_switch *s =
		syscall_switch_new(SWITCH_WHEN_SLOW);
	struct switch_state state;

	start_recorder(1);
	add_slow(s, model, SPAN, 3, 100 * NSEC_PER_SEC);
	syscall_switch_run(s, NULL, 100 * NSEC_PER_SEC);
	start_recorder(0);
	syscall_switch_run(s, NULL, 101 * NSEC_PER_SEC);
	syscall_switch_get_state(s, &state);
	CHECK_INT(state.pid_count, 0);
	start_recorder(2);
	syscall_switch_run(s, NULL, 102 * NSEC_PER_SEC);
	CHECK(recorder.is_on[SPAN]);
}

TEST(a_recorder_that_does_not_read_gets_the_verbs_later)
{
	_cleanup_(syscall_switch_freep) struct syscall_switch *s =
		syscall_switch_new(SWITCH_ALWAYS);
	struct switch_state state;

	start_recorder(1);
	recorder.is_busy = true;
	syscall_switch_run(s, NULL, NSEC_PER_SEC);
	syscall_switch_get_state(s, &state);
	CHECK_INT(state.is_all, 0);
	recorder.is_busy = false;
	syscall_switch_run(s, NULL, NSEC_PER_SEC);
	syscall_switch_run(s, NULL, NSEC_PER_SEC);
	CHECK(recorder.is_on[0]);
	CHECK_INT(recorder.verbs, 1);
}

TEST(what_is_forbidden_is_off_until_it_is_allowed_again)
{
	_cleanup_(model_freep) struct model *model = make_spans();
	_cleanup_(syscall_switch_freep) struct syscall_switch *always =
		syscall_switch_new(SWITCH_ALWAYS);
	_cleanup_(syscall_switch_freep) struct syscall_switch *s =
		syscall_switch_new(SWITCH_WHEN_SLOW);

	start_recorder(1);
	add_slow(s, model, SPAN, 3, 100 * NSEC_PER_SEC);
	for (int i = 0; i < 3; i++) {
		syscall_switch_forbid(always, i == 1);
		syscall_switch_forbid(s, i == 1);
		syscall_switch_run(always, NULL, 101 * NSEC_PER_SEC);
		syscall_switch_run(s, NULL, 101 * NSEC_PER_SEC);
		CHECK_INT(recorder.is_on[0], i != 1);
		CHECK_INT(recorder.is_on[SPAN], i != 1);
	}
}

TEST(more_processes_than_fit_are_not_switched_on)
{
	_cleanup_(model_freep) struct model *model = make_spans();
	_cleanup_(syscall_switch_freep) struct syscall_switch *s =
		syscall_switch_new(SWITCH_WHEN_SLOW);
	struct switch_state state;

	start_recorder(1);
	for (uint8_t i = 1; i <= PROCESSES; i++)
		add_slow(s, model, i, 3, 100 * NSEC_PER_SEC);
	syscall_switch_run(s, NULL, 101 * NSEC_PER_SEC);
	syscall_switch_get_state(s, &state);
	CHECK_INT(state.pid_count, SWITCH_PROCESSES);
	CHECK_INT(recorder.verbs, SWITCH_PROCESSES);
}

TEST(nothing_is_switched_on_by_default)
{
	_cleanup_(model_freep) struct model *model = make_spans();
	_cleanup_(syscall_switch_freep) struct syscall_switch *s = syscall_switch_new(SWITCH_NEVER);

	start_recorder(1);
	add_slow(s, model, SPAN, 10, 100 * NSEC_PER_SEC);
	syscall_switch_run(s, NULL, 100 * NSEC_PER_SEC);
	CHECK_INT(recorder.verbs, 0);
}
