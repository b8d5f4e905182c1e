/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts and attributes of a model.  The contexts of a thread are written as
 * "1 10-20, ? 20-30, 2o 30-": the span, - for none or ? for unknown, then o if the context was
 * observed and not reported; start and end.
 */
#include "story.h"
#include "test.h"

static char *contexts_of(const struct model *model, thread_id id)
{
	struct context_stretch c;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	bool more = model_context_from(model, id, 0, &c);

	for (bool first = true; more; first = false) {
		fprintf(file, "%s", first ? "" : ", ");
		if (c.context.flags & CONTEXT_UNKNOWN)
			fputc('?', file);
		else if (c.context.ref)
			fprintf(file, "%u", model_span_ref(model, c.context.ref)->id[0]);
		else
			fputc('-', file);
		fprintf(file, "%s %" PRIu64 "-", c.context.flags & CONTEXT_OBSERVED ? "o" : "",
			c.context.start);
		more = model_context_next(model, id, &c);
		if (more)
			fprintf(file, "%" PRIu64, c.context.start);
	}
	fclose(file);
	return text;
}

static void check_contexts(const struct story *s, uint32_t tid, const char *want)
{
	_cleanup_(model_freep) struct model *model = story_model(s);
	_cleanup_(freep) char *got = contexts_of(model, model_find_thread(model, tid, 0));

	CHECK_STR(got, want);
}

TEST(a_reported_context_is_valid_from_its_time_on)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_context(&s, 1, 10, 1);
	story_context(&s, 1, 15, 1); /* the same again */
	story_context(&s, 2, 20, 3);
	story_context(&s, 1, 20, 0);
	story_unknown(&s, 1, 30);
	story_context(&s, 1, 40, 2);
	check_contexts(&s, 1, "1 10-20, - 20-30, ? 30-40, 2 40-");
	check_contexts(&s, 2, "3 20-");
	check_contexts(&s, 3, "");
}

TEST(the_time_before_an_observed_context_is_unknown)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_context(&s, 1, 10, 1);
	story_observed(&s, 1, 20, 30, 2);
	story_observed(&s, 1, 40, 50, 0);
	story_observed(&s, 2, 5, 9, 7); /* before it, unknown */
	check_contexts(&s, 1, "1 10-20, ? 20-30, 2o 30-40, ? 40-50, -o 50-");
	check_contexts(&s, 2, "? 5-9, 7o 9-");
}

TEST(a_report_during_the_slice_of_an_observation_ends_in_doubt)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_context(&s, 1, 10, 1);
	story_context(&s, 1, 25, 2);
	story_observed(&s, 1, 20, 30, 3);
	check_contexts(&s, 1, "1 10-25, ? 25-30, 3o 30-");
}

TEST(the_last_of_several_contexts_at_one_time_counts)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_context(&s, 1, 10, 1);
	story_context(&s, 1, 10, 2);
	story_context(&s, 1, 20, 3);
	story_observed(&s, 1, 20, 20, 4);
	check_contexts(&s, 1, "2 10-20, 4o 20-");
}

static void add_to(struct model *model, const struct record *r)
{
	struct source source = story_source(0);

	model_add(model, &source, r);
}

static void add_context(struct model *model, nsec_t since, nsec_t t, uint8_t id)
{
	add_to(model, REC(CONTEXT, context, t, 1, .since = since, .trace = { 1 }, .span = { id },
			  .flags = since < t ? CONTEXT_OBSERVED : 0));
}

TEST(a_late_report_is_sorted_in_and_removes_the_doubt)
{
	_cleanup_(model_freep) struct model *model = model_new();

	add_context(model, 10, 10, 1);
	add_context(model, 20, 30, 3);
	add_context(model, 40, 50, 4);
	add_context(model, 25, 25, 2);
	add_context(model, 28, 28, 3);
	for (int again = 0; again < 2; again++) {
		model_finish(model);
		_cleanup_(freep) char *got = contexts_of(model, model_find_thread(model, 1, 0));
		CHECK_STR(got, "1 10-25, 2 25-28, 3 28-40, ? 40-50, 4o 50-");
	}
	/* and continues after that */
	add_context(model, 60, 60, 5);
	add_context(model, 45, 45, 4);
	model_finish(model);
	_cleanup_(freep) char *got = contexts_of(model, model_find_thread(model, 1, 0));
	CHECK_STR(got, "1 10-25, 2 25-28, 3 28-45, 4 45-60, 5 60-");
}

TEST(a_late_context_belongs_to_the_exited_thread)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_run(&s, 1, 0, 10);
	story_add(&s, REC(EXIT, exit, 10, 1));
	story_create(&s, 1, 9, 20);
	story_run(&s, 1, 20, 30);
	_cleanup_(model_freep) struct model *model = story_model(&s);
	add_context(model, 5, 5, 1);
	model_finish(model);
	CHECK(model_thread(model, model_find_thread(model, 1, 5))->timelines[TIMELINE_CONTEXTS]);
	CHECK(!model_thread(model, model_find_thread(model, 1, 25))->timelines[TIMELINE_CONTEXTS]);
}

TEST(contexts_find_spans_that_come_before_or_after)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_context(&s, 1, 10, 1);
	story_context(&s, 1, 30, 2);
	story_context(&s, 1, 40, 3);
	story_span(&s, 10, 50, 1, 0, 1);
	story_span(&s, 10, 20, 2, 0, 1);
	_cleanup_(model_freep) struct model *model = story_model(&s);
	const struct span *first = model_span(model, story_find_span(model, 1));
	const struct span *second = model_span(model, story_find_span(model, 2));
	const struct residency *residency =
		model_residency(model, model_span_ref(model, first->ref)->first_residency);

	CHECK_INT(model_span_ref(model, first->ref)->span.i, story_find_span(model, 1).i);
	CHECK_INT(model_span_ref(model, second->ref)->id[0], 2);
	CHECK_INT(residency->first, 10);
	CHECK_INT(residency->last, 30);
	CHECK_INT(model_thread(model, residency->thread)->tid, 1);
	CHECK_INT(residency->next, 0);
	/* the third is not recorded; finishing again changes nothing */
	model_finish(model);
	CHECK_INT(model_span_ref(model, 3)->id[0], 3);
	CHECK_INT(model_span_ref(model, 3)->span.i, 0);
	CHECK_INT(model_residency(model, model_span_ref(model, first->ref)->first_residency)->last,
		  30);
}

TEST(each_thread_of_a_span_has_one_residency)
{
	_cleanup_(story_done) struct story s = { 0 };

	for (nsec_t t = 10; t < 100; t += 20)
		for (uint32_t tid = 1; tid <= 3; tid++) {
			story_context(&s, tid, t, 1);
			story_context(&s, tid, t + 10, 0);
		}
	story_span(&s, 0, 100, 1, 0, 1);
	_cleanup_(model_freep) struct model *model = story_model(&s);
	uint32_t at =
		model_span_ref(model, model_span(model, (span_id){ 1 })->ref)->first_residency;

	for (uint32_t tid = 1; tid <= 3; tid++) {
		const struct residency *residency = model_residency(model, at);

		CHECK_INT(model_thread(model, residency->thread)->tid, tid);
		CHECK_INT(residency->first, 10);
		CHECK_INT(residency->last, 100);
		at = residency->next;
	}
	CHECK_INT(at, 0);
}

static void add_attribute(struct story *s, nsec_t t, uint8_t span, uint32_t key, uint8_t type,
			  uint64_t value)
{
	story_add(s, REC(ATTRIBUTE, attribute, t, 1, .trace = { 1 }, .span = { span }, .key = key,
			 .type = type, .value = value));
}

TEST(attributes_go_to_their_spans_in_their_order)
{
	_cleanup_(story_done) struct story s = { 0 };

	add_attribute(&s, 20, 2, 5, ATTRIBUTE_STRING, 6);
	add_attribute(&s, 20, 1, 7, ATTRIBUTE_INT, -3);
	add_attribute(&s, 20, 2, 3, ATTRIBUTE_BOOL, 1);
	story_span(&s, 10, 20, 2, 0, 1);
	add_attribute(&s, 30, 2, 5, ATTRIBUTE_STRING, 9); /* repeated: the first one counts */
	story_span(&s, 10, 30, 1, 0, 1);
	story_span(&s, 10, 40, 3, 0, 1);
	_cleanup_(model_freep) struct model *model = story_model(&s);

	for (int again = 0; again < 2; again++) {
		struct attributes one = model_span_attributes(model, story_find_span(model, 1));
		struct attributes two = model_span_attributes(model, story_find_span(model, 2));

		CHECK_INT(one.count, 1);
		CHECK_STR(model_string(model, one.items[0].key), "string 7");
		CHECK_INT((int64_t)one.items[0].value, -3);
		CHECK_INT(two.count, 2);
		CHECK_STR(model_string(model, two.items[0].key), "string 5");
		CHECK_STR(model_string(model, (str_id){ two.items[0].value }), "string 6");
		CHECK_INT(two.items[1].type, ATTRIBUTE_BOOL);
		CHECK_INT(model_span_attributes(model, story_find_span(model, 3)).count, 0);
		CHECK_INT(model_attributes(model).count, 3);
		model_finish(model);
	}
}

TEST(kinds_of_spans_are_kept)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_add(&s, REC(SPAN, span, 20, 1, .start = 10, .span = { 1 }, .kind = SPAN_CLIENT));
	_cleanup_(model_freep) struct model *model = story_model(&s);
	CHECK_INT(model_span(model, (span_id){ 1 })->kind, SPAN_CLIENT);
}

#define STEP NSEC_PER_MSEC

/* An event loop that switches between tasks, with 16 spans at a time. */
static void print_slices(struct model *model, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		nsec_t t = STEP * i;
		uint32_t id = i / 1000 * 16 + i % 16;
		struct record_context r = { .head = { t, 1, 0, RECORD_CONTEXT, sizeof(r) / 8 },
					    .since = t,
					    .trace = { 1 } };

		memcpy(r.span, &id, sizeof(id));
		add_to(model, &r.head);
	}
}

TEST(the_context_at_a_time_survives_forgetting_before_it)
{
	_cleanup_(model_freep) struct model *model = model_new();
	struct context_stretch whole, left;
	enum { COUNT = 100000 };
	nsec_t t = 90000 * STEP + 50;
	thread_id id;

	print_slices(model, 1, COUNT);
	model_update(model);
	id = model_find_thread(model, 1, 0);
	CHECK(model_context_from(model, id, t, &whole));
	/* 16 bytes for each context, and some for each span */
	CHECK(model_memory(model) < COUNT * 20);

	size_t before = model_memory(model);

	model_forget(model, t);
	CHECK(model_memory(model) < before / 3);
	CHECK(model_context_from(model, id, t, &left));
	CHECK_INT(left.context.start, whole.context.start);
	CHECK_INT(left.context.ref, whole.context.ref);
	CHECK_INT(left.end, whole.end);
	print_slices(model, COUNT, COUNT + 10);
	model_update(model);
	CHECK(model_context_from(model, id, UINT64_MAX, &left));
	CHECK_INT(left.context.start, (COUNT + 9) * STEP);
}
