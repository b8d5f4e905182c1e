/* SPDX-License-Identifier: Apache-2.0 */
/* The model as a sliding window. */
#include <malloc.h>
#include <stdlib.h>

#include "churn.h"
#include "model/model.h"
#include "model_text.h"
#include "story.h"
#include "test.h"

#define WINDOW (10 * NSEC_PER_SEC)

static void add_to(void *model, const struct record *r)
{
	struct source source = story_source(0);

	model_add(model, &source, r);
}

static size_t heap(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static bool is_within(size_t a, size_t b, size_t percent)
{
	return a <= b + b * percent / 100;
}

/* Largest sizes in some minutes, as sizes go up and down with each sweep. */
struct sizes {
	size_t model, heap;
	size_t threads, spans;
};

static size_t largest(size_t a, size_t b)
{
	return a > b ? a : b;
}

static struct sizes slide(struct model *model, struct churn *c, uint32_t seconds, size_t empty)
{
	struct sizes sizes = { 0 };

	for (uint32_t i = 0; i < seconds; i++) {
		churn_second(c);
		model_update(model);
		sizes.model = largest(sizes.model, model_memory(model));
		sizes.heap = largest(sizes.heap, heap() - empty);
		sizes.threads = largest(sizes.threads, model_thread_count(model));
		sizes.spans = largest(sizes.spans, model_span_count(model));
		model_forget(model, model_end(model) - WINDOW);
	}
	return sizes;
}

TEST(an_hour_of_comings_and_goings_leaves_the_size_as_it_was)
{
	size_t empty = heap();
	_cleanup_(model_freep) struct model *model = model_new();
	struct churn c = { .add = add_to, .arg = model, .rate = 25, .epoch = 4 };
	struct sizes first, last;

	slide(model, &c, 360, empty); /* facts about futexes and ports stay until they are many */
	first = slide(model, &c, 60, empty);
	slide(model, &c, 3120, empty);
	last = slide(model, &c, 60, empty);
	CHECK_INT(c.processes, 3600 * c.rate);
	CHECK(is_within(last.model, first.model, 5));
	CHECK(is_within(last.heap, first.heap, 5));
	CHECK(is_within(last.threads, first.threads, 5));
	CHECK(is_within(last.spans, first.spans, 5));
	if (last.heap) /* the heap of a sanitizer has no such count */
		CHECK(is_within(last.model, last.heap, 10) && is_within(last.heap, last.model, 10));
	if (test_failures)
		printf("# model %zu to %zu, heap %zu to %zu, threads %zu to %zu, spans %zu to "
		       "%zu\n",
		       first.model, last.model, first.heap, last.heap, first.threads, last.threads,
		       first.spans, last.spans);
}

/* Compares line by line, to show the first difference. */
static bool check_equal(const char *got, const char *want)
{
	size_t line = 1;

	for (; *got && *want; line++) {
		size_t a = strcspn(got, "\n"), b = strcspn(want, "\n");

		if (a != b || memcmp(got, want, a) != 0)
			break;
		got += a + 1;
		want += b + 1;
	}
	if (!*got && !*want)
		return true;
	printf("# line %zu is '%.*s', want '%.*s'\n", line, (int)strcspn(got, "\n"), got,
	       (int)strcspn(want, "\n"), want);
	return false;
}

TEST(updates_in_steps_give_what_one_at_the_end_gives)
{
	_cleanup_(model_freep) struct model *once = model_new(), *steps = model_new();
	struct churn a = { .add = add_to, .arg = once, .rate = 40, .epoch = 4 };
	struct churn b = { .add = add_to, .arg = steps, .rate = 40, .epoch = 4 };

	for (int i = 0; i < 60; i++) {
		churn_second(&a);
		churn_second(&b);
		model_update(steps);
	}
	model_finish(once);
	_cleanup_(freep) char *want = model_text(once, 0, UINT64_MAX);
	_cleanup_(freep) char *got = model_text(steps, 0, UINT64_MAX);
	CHECK(strlen(want) > 1000000);
	CHECK(check_equal(got, want));
}

static void check_window(uint32_t epoch)
{
	_cleanup_(model_freep) struct model *whole = model_new(), *window = model_new();
	struct churn a = { .add = add_to, .arg = whole, .rate = 20, .epoch = epoch };
	struct churn b = { .add = add_to, .arg = window, .rate = 20, .epoch = epoch };

	for (int i = 0; i < 200 && !test_failures; i++) {
		nsec_t t;

		churn_second(&a);
		churn_second(&b);
		model_update(window);
		t = model_end(window) - WINDOW;
		if (i < 20)
			continue;
		model_forget(window, t);
		if (i % 20)
			continue;
		model_update(whole);
		_cleanup_(freep) char *want = model_text(whole, t, UINT64_MAX);
		_cleanup_(freep) char *got = model_text(window, t, UINT64_MAX);
		CHECK(strlen(want) > 100000);
		CHECK(check_equal(got, want));
	}
}

TEST(a_window_holds_what_the_whole_holds_of_its_time)
{
	check_window(4);
	check_window(0);
}

static const char *get_string(const void *arg, uint32_t id)
{
	return capture_get_string(arg, id);
}

/* Reads a capture into a model of the whole and a window of a quarter of it. */
static void check_capture(const char *name)
{
	_cleanup_(model_freep) struct model *whole = model_new(), *window = model_new();
	_cleanup_(capture_freep) struct capture *cap = NULL;
	struct source source = { .get_string = get_string };
	struct capture_cursor cur;
	const struct record *r;
	char path[4096];
	struct err err;

	snprintf(path, sizeof(path), "%s/good/%s", getenv("SONDE_TEST_DATA"), name);
	CHECK_INT(capture_open(path, &cap, &err), 0);
	if (test_failures)
		return;
	source.arg = cap;
	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	while (capture_next(&cur, &r, &err) > 0) {
		nsec_t length;

		model_add(whole, &source, r);
		model_add(window, &source, r);
		model_update(window);
		length = model_end(whole) - model_begin(whole);
		model_forget(window, model_end(window) - length / 4);
	}
	model_update(whole);
	_cleanup_(freep) char *want = model_text(whole, model_begin(window), UINT64_MAX);
	_cleanup_(freep) char *got = model_text(window, model_begin(window), UINT64_MAX);
	if (!check_equal(got, want)) {
		test_failures++;
		printf("# in %s\n", name);
	}
}

TEST(a_window_over_a_capture_holds_what_the_whole_holds)
{
	if (!getenv("SONDE_TEST_DATA"))
		SKIP("SONDE_TEST_DATA is not set");
	check_capture("small.sonde");
	check_capture("flush.sonde");
	check_capture("tasks.sonde");
	check_capture("cut.sonde");
}

static void add_task(struct model *model, nsec_t t, uint32_t tid, uint8_t event)
{
	add_to(model, REC(TASK, task, t, tid, .pid = tid, .event = event, .comm = tid));
}

static void run(struct model *model, uint32_t tid, nsec_t start, nsec_t end)
{
	add_to(model, REC(RUN, run, end, tid, .start = start));
}

TEST(a_thread_that_an_epoch_does_not_describe_has_ended)
{
	_cleanup_(model_freep) struct model *model = model_new();
	thread_id stays, goes;

	add_task(model, 10, 1, TASK_EXISTING);
	add_task(model, 10, 2, TASK_EXISTING);
	run(model, 1, 10, 20);
	run(model, 2, 10, 20);
	stays = model_find_thread(model, 1, 15);
	goes = model_find_thread(model, 2, 15);
	for (uint32_t epoch = 1; epoch <= 3; epoch++) {
		add_to(model, REC(EPOCH, epoch, 100 * epoch, 0, .number = epoch));
		add_task(model, 100 * epoch, 1, TASK_AGAIN);
		run(model, 3, 100 * epoch, 100 * epoch + 10);
		model_forget(model, 100 * epoch - 50);
		CHECK(model_thread(model, goes)->forgotten == (epoch >= 2));
		CHECK(!model_thread(model, stays)->forgotten);
	}
	CHECK_INT(model_find_thread(model, 1, 350).i, stays.i);
	CHECK_INT(model_find_thread(model, 2, 350).i, 0);
}

TEST(the_number_of_a_thread_is_reused_after_one_more_window)
{
	_cleanup_(model_freep) struct model *model = model_new();
	thread_id first;
	uint32_t generation;

	add_task(model, 10, 1, TASK_NEW);
	run(model, 1, 10, 20);
	add_to(model, REC(EXIT, exit, 20, 1));
	first = model_find_thread(model, 1, 15);
	generation = model_thread(model, first)->generation;
	run(model, 9, 100, 1000);
	model_forget(model, 900);
	CHECK(model_thread(model, first)->forgotten);
	CHECK_INT(model_thread(model, first)->tid, 1); /* for an analysis that remembers it */
	add_task(model, 1000, 2, TASK_NEW);
	CHECK(model_find_thread(model, 2, 1000).i != first.i);
	run(model, 9, 1000, 1100);
	model_forget(model, 1000);
	add_task(model, 1100, 3, TASK_NEW);
	CHECK_INT(model_find_thread(model, 3, 1100).i, first.i);
	CHECK(model_thread(model, first)->generation != generation);
}

/* A child that lives longer than its parent, and a wait longer than its waker's life. */
TEST(nothing_in_the_window_leads_to_a_reused_number)
{
	_cleanup_(model_freep) struct model *model = model_new();
	thread_id child;

	add_task(model, 10, 1, TASK_NEW);
	add_to(model, REC(TASK, task, 11, 2, .pid = 2, .event = TASK_NEW, .parent = 1));
	child = model_find_thread(model, 2, 11);
	CHECK(model_thread(model, child)->parent.i);
	run(model, 1, 10, 20);
	add_to(model, REC(WAIT, wait, 30, 2, .start = 11, .woken = 20, .waker = 1,
			  .state = STATE_LOCK, .ready = STATE_READY, .context = WAKE_TASK));
	add_to(model, REC(EXIT, exit, 20, 1));
	for (nsec_t t = 100; t <= 1000; t += 100) {
		const struct thread *thread = model_thread(model, child);

		run(model, 3, t, t + 10);
		model_forget(model, t);
		CHECK(!thread->parent.i ||
		      model_thread(model, thread->parent)->tid == 1); /* until the sweep */
		CHECK(!thread->causes.chunk_count);
		add_task(model, t + 10, 1000 + t, TASK_NEW);
	}
	CHECK(!model_thread(model, child)->parent.i);
	CHECK(!model_thread(model, child)->forgotten);
}

TEST(what_a_stream_described_is_dropped_after_its_end)
{
	_cleanup_(model_freep) struct model *model = model_new();

	add_task(model, 10, 1, TASK_EXISTING);
	add_to(model, REC(FILE, file, 10, 1, .object = 7, .name = 70));
	run(model, 1, 10, 20);
	model_forget(model, 15);
	CHECK_STR(model_file(model, 0, 7), "string 70");
	model_end_input(model, 0);
	run(model, 9, 100, 200);
	model_forget(model, 150);
	CHECK(!model_file(model, 0, 7));
	CHECK_INT(model_find_thread(model, 1, 15).i, 0);
}

TEST(descriptions_stay_for_two_epochs_after_their_last_use)
{
	_cleanup_(model_freep) struct model *model = model_new();

	add_to(model, REC(FILE, file, 10, 1, .object = 7, .name = 70));
	run(model, 9, 10, 20);
	for (uint32_t epoch = 1; epoch <= 5; epoch++) {
		add_to(model, REC(EPOCH, epoch, 100 * epoch, 0, .number = epoch));
		run(model, 9, 100 * epoch, 100 * epoch + 10);
		model_forget(model, 100 * epoch + 5); /* in this epoch */
		CHECK_INT(model_file(model, 0, 7) != NULL, epoch <= 2);
	}
}

static struct record *span_record(uint8_t id, uint8_t parent, nsec_t start, nsec_t end)
{
	static struct record_span r;

	r = (struct record_span){ .head = { end, 0, 0, RECORD_SPAN, sizeof(r) / 8 },
				  .start = start,
				  .span = { id },
				  .parent = { parent },
				  .operation = id };
	return &r.head;
}

TEST(a_parent_adopts_children_that_came_before_and_after_it)
{
	_cleanup_(model_freep) struct model *model = model_new();
	const struct span *parent;

	add_to(model, span_record(2, 1, 10, 20));
	CHECK_INT(model_span(model, (span_id){ 1 })->parent.i, 0);
	add_to(model, span_record(3, 1, 10, 30));
	add_to(model, span_record(1, 0, 10, 40));
	add_to(model, span_record(4, 1, 10, 50));
	parent = model_span(model, (span_id){ 3 });
	CHECK_INT(parent->first_child.i, 1);
	CHECK_INT(model_span(model, (span_id){ 1 })->next.i, 2);
	CHECK_INT(model_span(model, (span_id){ 2 })->next.i, 4);
	CHECK_INT(model_span(model, (span_id){ 4 })->parent.i, 3);
	model_forget(model, 35);
	CHECK_INT(model_span_count(model), 3);
	CHECK_INT(model_span(model, (span_id){ 1 })->first_child.i, 2);
	CHECK_INT(model_span(model, (span_id){ 2 })->parent.i, 1);
	CHECK_INT(model_span(model, (span_id){ 2 })->next.i, 0);
}

static uint32_t random_below(uint32_t *state, uint32_t limit)
{
	*state = *state * 1664525 + 1013904223;
	return (uint64_t)*state * limit >> 32;
}

/* Spans with any parent, also in cycles; contexts that come up to half a second late. */
static void add_random(struct model *model, uint32_t *state, nsec_t t)
{
	nsec_t late = t - random_below(state, 500) * NSEC_PER_MSEC;
	uint8_t id = random_below(state, 256), parent = random_below(state, 256);
	uint8_t trace = 1 + t / NSEC_PER_SEC % 50;
	uint32_t tid = 1 + random_below(state, 8);

	switch (random_below(state, 4)) {
	case 0:
		add_to(model, REC(SPAN, span, t, tid, .start = late, .trace = { trace },
				  .span = { id }, .parent = { parent }, .operation = id));
		break;
	case 1:
		add_to(model,
		       REC(ATTRIBUTE, attribute, t, tid, .trace = { trace }, .span = { id },
			   .key = 1 + parent % 5, .value = 1 + parent, .type = ATTRIBUTE_STRING));
		break;
	case 2:
		add_to(model, REC(CONTEXT, context, late, tid, .since = late, .trace = { trace },
				  .span = { id % 32 }));
		break;
	default:
		add_to(model, REC(CONTEXT, context, t, tid, .since = late, .trace = { trace },
				  .span = { id % 32 },
				  .flags = CONTEXT_OBSERVED | (parent < 20 ? CONTEXT_UNKNOWN : 0)));
		run(model, tid, late, t);
	}
}

TEST(random_spans_and_contexts_are_the_same_in_steps_and_at_once)
{
	for (uint32_t seed = 1; seed <= 20 && !test_failures; seed++) {
		_cleanup_(model_freep) struct model *once = model_new(), *steps = model_new();
		uint32_t a = seed, b = seed, choice = seed;

		for (uint32_t tid = 1; tid <= 8; tid++) {
			add_task(once, NSEC_PER_SEC, tid, TASK_EXISTING);
			add_task(steps, NSEC_PER_SEC, tid, TASK_EXISTING);
		}
		for (int i = 0; i < 2000; i++) {
			nsec_t t = (1000 + i) * 10 * NSEC_PER_MSEC;

			add_random(once, &a, t);
			add_random(steps, &b, t);
			if (random_below(&choice, 10) == 0)
				model_update(steps);
		}
		model_update(once);
		model_update(steps);
		_cleanup_(freep) char *want = model_text(once, 0, UINT64_MAX);
		_cleanup_(freep) char *got = model_text(steps, 0, UINT64_MAX);
		if (!check_equal(got, want)) {
			test_failures++;
			printf("# with seed %u\n", seed);
		}
	}
}
