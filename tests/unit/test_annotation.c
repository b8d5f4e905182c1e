/* SPDX-License-Identifier: Apache-2.0 */
/* What an annotation adds to a span. */
#include "annotate/annotation.h"

#include <string.h>

#include "annotate/waits.h"
#include "story.h"
#include "test.h"

enum { REALTIME = 1000000, SPAN = 7, MANY = 1009 };

static const struct annotation_options options = { .realtime = REALTIME,
						   .spans_max = ANNOTATION_SPANS };

/* The children as one request, for the reader. */
static struct otlp_writer request_of(struct annotation *a)
{
	struct otlp_writer w = { 0 };

	otlp_begin_resource(&w, &(struct otlp_resource){ 0 });
	otlp_begin_scope(&w, &(struct otlp_scope){ 0 });
	otlp_put_spans(&w, otlp_end(&a->children));
	return w;
}

static bool find_attribute(struct otlp_list list, const char *key, struct otlp_value *ret)
{
	struct otlp_attribute attribute;

	while (otlp_attribute_next(&list, &attribute) > 0)
		if (view_is(attribute.key, key))
			return otlp_value_read(attribute.value, ret) == 0;
	return false;
}

static int64_t number_of(struct otlp_list list, const char *key)
{
	struct otlp_value value;

	return find_attribute(list, key, &value) && value.type == OTLP_INT ? value.number : -1;
}

/* The attributes of an annotation, as those of a span. */
static struct otlp_list attributes_of(struct annotation *a)
{
	return (struct otlp_list){ pb_reader_of(otlp_end(&a->attributes)), PB_TAG(9, PB_BYTES) };
}

/* A span of thread 1, which waits for a lock that thread 2 holds during a wait for the disk. */
static struct model *held_lock(void)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_begin(&s, 2, 0);
	story_run(&s, 1, 0, 20);
	story_wait(&s, 1, 20, 60, STATE_LOCK, 2);
	story_run(&s, 1, 60, 200);
	story_run(&s, 2, 0, 25);
	story_wait(&s, 2, 25, 50, STATE_DISK, 0);
	story_run(&s, 2, 50, 200);
	story_span(&s, 10, 100, SPAN, 0, 1);
	return story_model(&s);
}

TEST(a_wait_is_a_child_span_with_what_it_waited_for_below)
{
	_cleanup_(model_freep) struct model *model = held_lock();
	struct span_set spans = { .model = model };
	_cleanup_(annotation_done) struct annotation a = { 0 };
	struct otlp_reader reader;
	struct otlp_span wait, below;

	CHECK(annotation_find(&spans, story_find_span(model, SPAN), &options, &a));
	CHECK_INT(a.span_count, 2);

	_cleanup_(otlp_writer_done) struct otlp_writer w = request_of(&a);

	otlp_reader_init(&reader, otlp_end(&w));
	CHECK_INT(otlp_next_span(&reader, &wait), 1);
	CHECK_INT(wait.start, 20 + REALTIME);
	CHECK_INT(wait.end, 60 + REALTIME);
	CHECK_INT(otlp_next_span(&reader, &below), 1);
	CHECK_INT(below.start, 25 + REALTIME);
	CHECK_INT(below.end, 50 + REALTIME);
	CHECK(below.parent_span_id.len == 8 &&
	      memcmp(below.parent_span_id.s, wait.span_id.s, 8) == 0);
	CHECK(memcmp(wait.parent_span_id.s, model_span(model, story_find_span(model, SPAN))->id,
		     8) == 0);
}

TEST(child_spans_are_inside_of_the_exported_span)
{
	_cleanup_(model_freep) struct model *model = held_lock();
	struct span_set spans = { .model = model };
	_cleanup_(annotation_done) struct annotation a = { 0 };
	struct annotation_options bounds = options;
	struct otlp_reader reader;
	struct otlp_span wait;

	bounds.start = 52 + REALTIME; /* after the wait below */
	bounds.end = 55 + REALTIME;
	CHECK(annotation_find(&spans, story_find_span(model, SPAN), &bounds, &a));
	CHECK_INT(a.span_count, 1);

	_cleanup_(otlp_writer_done) struct otlp_writer w = request_of(&a);

	otlp_reader_init(&reader, otlp_end(&w));
	CHECK_INT(otlp_next_span(&reader, &wait), 1);
	CHECK_INT(wait.start, 52 + REALTIME);
	CHECK_INT(wait.end, 55 + REALTIME);
	CHECK_INT(otlp_next_span(&reader, &wait), 0);
}

TEST(attributes_have_the_states_of_the_thread_and_of_the_critical_path)
{
	_cleanup_(model_freep) struct model *model = held_lock();
	struct span_set spans = { .model = model };
	_cleanup_(annotation_done) struct annotation a = { 0 };
	struct otlp_value cause;

	CHECK(annotation_find(&spans, story_find_span(model, SPAN), &options, &a));
	CHECK_INT(number_of(attributes_of(&a), "sonde.state.L"), 40);
	CHECK_INT(number_of(attributes_of(&a), "sonde.state.R"), 50);
	CHECK_INT(number_of(attributes_of(&a), "sonde.latency.D"), 25);
	CHECK_INT(number_of(attributes_of(&a), "sonde.latency.L"), -1);
	CHECK(find_attribute(attributes_of(&a), "sonde.cause", &cause));
}

TEST(the_same_wait_has_the_same_id_in_each_annotation)
{
	_cleanup_(model_freep) struct model *model = held_lock();
	struct span_set spans = { .model = model };
	_cleanup_(annotation_done) struct annotation a = { 0 }, b = { 0 };
	span_id span = story_find_span(model, SPAN);

	CHECK(annotation_find(&spans, span, &options, &a));
	CHECK(annotation_find(&spans, span, &options, &b));

	struct view x = otlp_end(&a.children), y = otlp_end(&b.children);

	CHECK(x.len == y.len && memcmp(x.s, y.s, x.len) == 0);
}

/* Thread 1 waits many times, for `kinds` things by turns. */
static struct model *many_waits(unsigned int kinds)
{
	static const enum state states[] = { STATE_DISK, STATE_TIMER, STATE_NETWORK };
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	for (unsigned i = 0; i < MANY; i++) {
		nsec_t t = 1000 * i;

		story_run(&s, 1, t, t + 400);
		story_wait(&s, 1, t + 400, t + 1000, states[i % kinds], 0);
	}
	story_run(&s, 1, 1000 * MANY, 1000 * MANY + 10);
	story_span(&s, 0, 300 * MANY, SPAN, 0, 1);
	return story_model(&s);
}

TEST(equal_waits_one_after_another_are_one_child)
{
	_cleanup_(model_freep) struct model *model = many_waits(1);
	struct span_set spans = { .model = model };
	_cleanup_(waits_done) struct waits waits = { 0 };

	waits_find(&spans, story_find_span(model, SPAN), NULL, ANNOTATION_SPANS, &waits);
	CHECK_INT(waits.items.count, 1);
	CHECK_INT(waits.items.items[0].count, 303);
	CHECK_INT(waits.items.items[0].time, 600 * 302 + 300);
	CHECK_INT(waits.omitted, 0);
}

TEST(a_child_that_is_several_waits_has_another_name_and_their_sum)
{
	_cleanup_(model_freep) struct model *model = many_waits(1);
	struct span_set spans = { .model = model };
	_cleanup_(annotation_done) struct annotation a = { 0 };
	struct otlp_reader reader;
	struct otlp_span child;
	struct otlp_value words;

	CHECK(annotation_find(&spans, story_find_span(model, SPAN), &options, &a));
	CHECK_INT(a.span_count, 1);

	_cleanup_(otlp_writer_done) struct otlp_writer w = request_of(&a);

	otlp_reader_init(&reader, otlp_end(&w));
	CHECK_INT(otlp_next_span(&reader, &child), 1);
	CHECK(child.name.len > 10 &&
	      memcmp(child.name.s + child.name.len - 10, " (several)", 10) == 0);
	CHECK_INT(number_of(child.attributes, "sonde.count"), 303);
	CHECK_INT(number_of(child.attributes, "sonde.wait_time"), 600 * 302 + 300);
	CHECK_INT(number_of(child.attributes, "sonde.wait_max"), 600);
	CHECK(find_attribute(child.attributes, "sonde.description", &words) && words.text.len > 9 &&
	      memcmp(words.text.s, "303 waits", 9) == 0);
}

TEST(two_kinds_of_waits_by_turns_are_two_children)
{
	_cleanup_(model_freep) struct model *model = many_waits(2);
	struct span_set spans = { .model = model };
	_cleanup_(waits_done) struct waits waits = { 0 };

	waits_find(&spans, story_find_span(model, SPAN), NULL, ANNOTATION_SPANS, &waits);
	CHECK_INT(waits.items.count, 2);
	CHECK_INT(waits.items.items[0].count, 152);
	CHECK_INT(waits.items.items[1].count, 151);
}

TEST(of_too_many_waits_the_shortest_are_left_out_and_counted)
{
	_cleanup_(model_freep) struct model *model = many_waits(3);
	struct span_set spans = { .model = model };
	_cleanup_(annotation_done) struct annotation a = { 0 };

	CHECK(annotation_find(&spans, story_find_span(model, SPAN), &options, &a));
	CHECK_INT(a.span_count, ANNOTATION_SPANS);
	CHECK_INT(number_of(attributes_of(&a), "sonde.waits_omitted"), 303 - ANNOTATION_SPANS);
}

TEST(waits_of_less_than_a_thousandth_are_left_out_and_counted)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_run(&s, 1, 0, 1000);
	story_wait(&s, 1, 1000, 1099, STATE_DISK, 0);
	story_run(&s, 1, 1099, 2000);
	story_wait(&s, 1, 2000, 2100, STATE_TIMER, 0);
	story_run(&s, 1, 2100, 100000);
	story_span(&s, 0, 100000, SPAN, 0, 1);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	struct span_set spans = { .model = model };
	_cleanup_(waits_done) struct waits waits = { 0 };

	waits_find(&spans, story_find_span(model, SPAN), NULL, ANNOTATION_SPANS, &waits);
	CHECK_INT(waits.items.count, 1);
	CHECK_INT(waits.items.items[0].longest.state, STATE_TIMER);
	CHECK_INT(waits.omitted, 1);
}

TEST(a_span_of_an_unrecorded_thread_has_no_annotation)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_run(&s, 1, 0, 100);
	story_span(&s, 10, 50, SPAN, 0, 0);

	_cleanup_(model_freep) struct model *model = story_model(&s);
	struct span_set spans = { .model = model };
	_cleanup_(annotation_done) struct annotation a = { 0 };

	CHECK(!annotation_find(&spans, story_find_span(model, SPAN), &options, &a));
	CHECK_INT(otlp_end(&a.attributes).len, 0);
}

TEST(details_that_were_not_recorded_are_listed)
{
	_cleanup_(model_freep) struct model *model = held_lock();
	struct span_set spans = { .model = model };
	_cleanup_(annotation_done) struct annotation full = { 0 }, reduced = { 0 };
	struct annotation_options some = options;
	struct otlp_value value = { 0 };

	CHECK(annotation_find(&spans, story_find_span(model, SPAN), &options, &full));
	CHECK(!find_attribute(attributes_of(&full), "sonde.reduced", &value));
	some.reduced[DETAIL_STACKS] = some.reduced[DETAIL_OTHER_TASKS] = true;
	CHECK(annotation_find(&spans, story_find_span(model, SPAN), &some, &reduced));
	CHECK(find_attribute(attributes_of(&reduced), "sonde.reduced", &value));
	CHECK(view_is(value.text, "stacks,other_tasks"));
}
