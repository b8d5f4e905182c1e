/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that began before the window. */
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "story.h"
#include "test.h"

enum { SPAN = 7, CHILD = 8 };

#define MS NSEC_PER_MSEC
#define STEP (100 * MS)
#define WINDOW (10 * STEP)
#define LENGTH (60 * STEP)

static int by_time(const void *a, const void *b)
{
	const struct story_event *x = a, *y = b;

	if (x->record.head.time != y->record.head.time)
		return x->record.head.time < y->record.head.time ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Passes the records in time, and forgets after each step what is older than the window. */
static struct model *slide(struct story *s, nsec_t window)
{
	struct source source = story_source(0);
	struct model *model = model_new();
	nsec_t next = STEP;

	qsort(s->events.items, s->events.count, sizeof(s->events.items[0]), by_time);
	for (size_t i = 0; i < s->events.count; i++) {
		const struct record *r = &s->events.items[i].record.head;

		for (; r->time >= next; next += STEP) {
			model_update(model);
			if (model_end(model) > window)
				model_forget(model, model_end(model) - window);
		}
		model_add(model, &source, r);
	}
	model_update(model);
	return model;
}

/* Thread 1 works for a span from 10 ms on: in each step, it runs for 30 ms and waits for 70. */
static void long_span(struct story *s, nsec_t end)
{
	story_begin(s, 1, 0);
	for (nsec_t t = 0; t < end; t += STEP) {
		story_run(s, 1, t, t + 30 * MS);
		if (t == 0)
			story_context(s, 1, 10 * MS, SPAN);
		story_wait(s, 1, t + 30 * MS, t + STEP, (t / STEP) % 2 ? STATE_DISK : STATE_TIMER,
			   0);
	}
}

/* The states of a span: those of the past, and those of the window. */
static void total(const struct model *model, const struct span *span, nsec_t ret[128])
{
	struct span_past past;
	struct stretch s;

	CHECK(model_span_past(model, span, &past));
	memcpy(ret, past.states, sizeof(past.states));
	for (bool more = model_stretch_at(model, span->thread, past.until, &s);
	     more && s.interval.start < span->end;
	     more = model_stretch_next(model, span->thread, &s))
		ret[s.interval.state] +=
			(s.end < span->end ? s.end : span->end) -
			(s.interval.start > past.until ? s.interval.start : past.until);
}

TEST(a_span_that_began_before_the_window_keeps_its_totals)
{
	_cleanup_(story_done) struct story s = { 0 };

	long_span(&s, LENGTH);
	story_span(&s, 10 * MS, LENGTH, SPAN, 0, 1);

	_cleanup_(model_freep) struct model *model = slide(&s, WINDOW);
	const struct span *span = model_span(model, story_find_span(model, SPAN));
	nsec_t states[128];

	CHECK(model_window_begin(model) > span->start);
	total(model, span, states);
	CHECK_INT(states[STATE_RUNNING], (60 * 30 - 10) * MS);
	CHECK_INT(states[STATE_TIMER], 30 * 70 * MS);
	CHECK_INT(states[STATE_DISK], 30 * 70 * MS);
}

TEST(totals_survive_waits_and_slices_that_are_longer_than_the_window)
{
	_cleanup_(story_done) struct story s = { 0 };
	nsec_t t = 60 * STEP;

	long_span(&s, t);
	story_wait(&s, 1, t, t + 3 * WINDOW, STATE_NETWORK, 0);
	story_run(&s, 1, t + 3 * WINDOW, t + 6 * WINDOW);
	story_wait(&s, 1, t + 6 * WINDOW, t + 6 * WINDOW + 10 * MS, STATE_LOCK, 0);
	story_span(&s, 10 * MS, t + 6 * WINDOW + 10 * MS, SPAN, 0, 1);
	story_begin(&s, 2, t); /* time passes meanwhile */
	for (; t < 60 * STEP + 6 * WINDOW; t += STEP)
		story_run(&s, 2, t, t + STEP);

	_cleanup_(model_freep) struct model *model = slide(&s, WINDOW);
	const struct span *span = model_span(model, story_find_span(model, SPAN));
	nsec_t states[128];

	CHECK(model_window_begin(model) > span->start);
	total(model, span, states);
	CHECK_INT(states[STATE_RUNNING], (60 * 30 - 10) * MS + 3 * WINDOW);
	CHECK_INT(states[STATE_NETWORK], 3 * WINDOW);
	CHECK_INT(states[STATE_LOCK], 10 * MS);
}

TEST(a_child_and_its_parent_have_totals_of_their_own)
{
	_cleanup_(story_done) struct story s = { 0 };

	long_span(&s, LENGTH);
	story_context(&s, 1, 20 * STEP, CHILD);
	story_context(&s, 1, 40 * STEP, SPAN);
	story_context(&s, 1, 41 * STEP, CHILD);
	story_span(&s, 20 * STEP, LENGTH, CHILD, SPAN, 1);
	story_span(&s, 10 * MS, LENGTH, SPAN, 0, 1);

	_cleanup_(model_freep) struct model *model = slide(&s, WINDOW);
	nsec_t states[128];

	total(model, model_span(model, story_find_span(model, SPAN)), states);
	CHECK_INT(states[STATE_RUNNING], (60 * 30 - 10) * MS);
	total(model, model_span(model, story_find_span(model, CHILD)), states);
	CHECK_INT(states[STATE_RUNNING], 40 * 30 * MS);
	CHECK_INT(states[STATE_DISK], 20 * 70 * MS);
}

TEST(a_span_without_a_thread_has_the_totals_of_the_thread_that_worked_for_it)
{
	_cleanup_(story_done) struct story s = { 0 };

	long_span(&s, LENGTH);
	story_span(&s, 10 * MS, LENGTH, SPAN, 0, 0);

	_cleanup_(model_freep) struct model *model = slide(&s, WINDOW);
	struct span_past past;

	CHECK(model_span_past(model, model_span(model, story_find_span(model, SPAN)), &past));
	CHECK_INT(past.from, 10 * MS);
}

/* As long_span(), but its context is observed when the thread leaves the CPU, once. */
static void observed_span(struct story *s)
{
	story_begin(s, 1, 0);
	for (nsec_t t = 0; t < LENGTH; t += STEP) {
		story_run(s, 1, t, t + 30 * MS);
		if (t == 0)
			story_observed(s, 1, 0, 30 * MS, SPAN);
		story_wait(s, 1, t + 30 * MS, t + STEP, STATE_TIMER, 0);
	}
}

TEST(the_slice_in_which_a_context_was_observed_counts_from_the_start_of_the_span)
{
	_cleanup_(story_done) struct story s = { 0 };

	observed_span(&s);
	story_span(&s, 10 * MS, LENGTH, SPAN, 0, 0);

	_cleanup_(model_freep) struct model *model = slide(&s, WINDOW);
	const struct span *span = model_span(model, story_find_span(model, SPAN));
	struct span_past past;

	CHECK(model_span_past(model, span, &past));
	CHECK_INT(past.from, 10 * MS);
	CHECK_INT(past.states[STATE_RUNNING] + past.states[STATE_TIMER], past.until - 10 * MS);
}

/* The span begins at 10 ms; its context at 45 ms, in a slice after a wait. */
static struct span_past past_of_late_context(uint8_t before)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	s.trace = before;
	if (before)
		story_context(&s, 1, 5 * MS, CHILD);
	s.trace = 0;
	story_run(&s, 1, 0, 30 * MS);
	story_wait(&s, 1, 30 * MS, 40 * MS, STATE_DISK, 0);
	story_context(&s, 1, 45 * MS, SPAN);
	story_run(&s, 1, 40 * MS, 90 * MS);
	story_wait(&s, 1, 90 * MS, LENGTH, STATE_TIMER, 0);
	story_span(&s, 10 * MS, LENGTH, SPAN, 0, 0);
	story_begin(&s, 2, 0); /* time passes meanwhile */
	for (nsec_t t = 0; t < LENGTH; t += STEP)
		story_run(&s, 2, t, t + STEP);
	story_run(&s, 1, LENGTH, LENGTH + 3 * WINDOW);

	struct model *model = slide(&s, WINDOW);
	struct span_past past = { 0 };

	CHECK(model_span_past(model, model_span(model, story_find_span(model, SPAN)), &past));
	model_free(model);
	return past;
}

TEST(states_before_the_context_of_a_span_count_from_its_start)
{
	struct span_past past = past_of_late_context(0);

	CHECK_INT(past.from, 10 * MS);
	CHECK_INT(past.states[STATE_RUNNING], (20 + 50) * MS);
	CHECK_INT(past.states[STATE_DISK], 10 * MS);
}

TEST(states_in_the_context_of_another_trace_do_not_count)
{
	struct span_past past = past_of_late_context(1);

	CHECK_INT(past.from, 45 * MS);
	CHECK_INT(past.states[STATE_RUNNING], 45 * MS);
	CHECK_INT(past.states[STATE_DISK], 0);
}

TEST(a_span_in_the_window_or_of_a_thread_without_contexts_has_no_past)
{
	_cleanup_(story_done) struct story s = { 0 };

	long_span(&s, LENGTH);
	story_context(&s, 1, LENGTH - STEP, CHILD);
	story_span(&s, LENGTH - STEP, LENGTH, CHILD, 0, 1);
	story_begin(&s, 2, 0);
	story_run(&s, 2, 0, LENGTH);
	story_span(&s, 10 * MS, LENGTH, SPAN + 10, 0, 2);

	_cleanup_(model_freep) struct model *model = slide(&s, WINDOW);
	struct span_past past;

	CHECK(!model_span_past(model, model_span(model, story_find_span(model, CHILD)), &past));
	CHECK(!model_span_past(model, model_span(model, story_find_span(model, SPAN + 10)), &past));
}

/* Each step, the thread begins another span, of which no end is ever recorded. */
static size_t memory_after(uint32_t steps)
{
	_cleanup_(story_done) struct story s = { 0 };

	long_span(&s, (nsec_t)steps * STEP);
	for (uint32_t i = 1; i < steps; i++) {
		s.trace = i % 251;
		story_context(&s, 1, (nsec_t)i * STEP, 1 + i % 200);
	}

	_cleanup_(model_freep) struct model *model = slide(&s, WINDOW);

	return model_memory(model);
}

TEST(spans_that_never_end_take_bounded_memory)
{
	CHECK(memory_after(20000) < memory_after(10000) + 4096);
}
