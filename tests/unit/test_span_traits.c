/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/span_traits.h"

#include <stdio.h>

#include "analyse/observation.h"
#include "story.h"
#include "test.h"

enum { STEP = 1000 };

/* Traits as text: key=value, functions in brackets, probes in braces. */
static char text[4096];

static void print_traits(void *arg, const struct observation *o)
{
	static const char *const forms[] = { "%s=%s;", "%s(%s);", "%s{%s};" };
	size_t length = 0;

	CHECK(o->traits.count <= SPAN_TRAITS_MAX);
	text[0] = '\0';
	for (size_t i = 0; i < o->traits.count; i++) {
		const struct span_trait *t = &o->traits.items[i];
		char number[32];

		snprintf(number, sizeof(number), "%" PRId64, t->number);
		length += snprintf(text + length, sizeof(text) - length, forms[t->kind], t->key,
				   t->text ?: number);
	}
}

static const char *traits_of(const struct story *s)
{
	_cleanup_(model_freep) struct model *model = story_model(s);
	struct observation_counts counts;

	observations_find(&(struct span_set){ .model = model }, print_traits, NULL, &counts);
	CHECK_INT(counts.traces, 1);
	return text;
}

/* A thread that runs for 100 steps, with a span of 10 to 90. */
static struct story one_span(void)
{
	struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_run(&s, 1, 0, 100 * STEP);
	story_span(&s, 10 * STEP, 90 * STEP, 1, 0, 1);
	return s;
}

static void add_attribute(struct story *s, uint32_t key, enum attribute_type type, uint64_t value)
{
	story_add(s, REC(ATTRIBUTE, attribute, 5 * STEP, 1, .value = value, .key = key,
			 .type = type, .trace = { 1, s->trace }, .span = { 1 }));
}

/* A sample in a function. */
static void add_sample(struct story *s, uint32_t step, uint32_t function)
{
	struct {
		struct record_stack stack;
		uint32_t frames[2];
	} r = { .stack = { .head = { 1, 0, 0, RECORD_STACK, sizeof(r) / 8 },
			   .stack = function,
			   .user_count = 1 } };

	r.stack.frames[0] = function;
	story_add(s, REC(FRAME, frame, 1, 0, .frame = function, .module = 7, .address = 1));
	story_add(s, REC(SYMBOL, symbol, 1, 0, .frame = function, .name = function));
	story_add(s, &r.stack.head);
	story_add(s, REC(SAMPLE, sample, step * STEP, 1, .stack = function));
}

static void add_event(struct story *s, uint32_t step, uint16_t type)
{
	story_add(s, REC(PROBE_TYPE, probe_type, 1, 0, .type = type, .name = 100 + type));
	story_add(s, REC(PROBE_EVENT, probe_event, step * STEP, 1, .type = type));
}

TEST(a_span_has_its_attributes_as_traits)
{
	_cleanup_(story_done) struct story s = one_span();

	add_attribute(&s, 1, ATTRIBUTE_STRING, 2);
	add_attribute(&s, 3, ATTRIBUTE_INT, (uint64_t)-4);
	add_attribute(&s, 5, ATTRIBUTE_BOOL, 1);
	add_attribute(&s, 6, ATTRIBUTE_DOUBLE, 7);
	add_attribute(&s, 8, 99, 7);
	CHECK_STR(traits_of(&s), "string 1=string 2;string 3=-4;string 5=true;");
}

TEST(the_number_of_traits_is_bounded)
{
	_cleanup_(story_done) struct story s = one_span();

	for (uint32_t i = 0; i < 100; i++)
		add_attribute(&s, i + 1, ATTRIBUTE_INT, i);
	CHECK(strstr(traits_of(&s), "string 16=15;"));
	CHECK(!strstr(traits_of(&s), "string 17=16;"));
}

TEST(the_function_of_most_samples_in_a_span_is_a_trait)
{
	_cleanup_(story_done) struct story s = one_span();

	for (uint32_t step = 1; step < 10; step++)
		add_sample(&s, step, 30); /* before the span */
	add_sample(&s, 20, 31);
	add_sample(&s, 21, 32);
	add_sample(&s, 22, 32);
	CHECK_STR(traits_of(&s), ""); /* too few */
	add_sample(&s, 23, 33);
	CHECK_STR(traits_of(&s), "(string 32);");
}

TEST(the_set_of_probes_in_a_span_is_a_trait)
{
	_cleanup_(story_done) struct story s = one_span();

	add_event(&s, 5, 1);
	add_event(&s, 20, 3);
	add_event(&s, 21, 2);
	add_event(&s, 22, 3);
	add_event(&s, 95, 4);
	CHECK_STR(traits_of(&s), "{string 102, string 103};");
	for (uint16_t i = 0; i < 50; i++)
		add_event(&s, 30 + i, 10 + i);
	CHECK(strstr(traits_of(&s), "{52 probes ("));
}

TEST(only_the_first_samples_and_events_of_a_span_count)
{
	_cleanup_(story_done) struct story s = one_span();

	for (uint32_t i = 0; i < FOOTPRINT_SAMPLES; i++) {
		add_sample(&s, 20, 31);
		add_event(&s, 20, 1);
	}
	for (uint32_t i = 0; i < 2 * FOOTPRINT_SAMPLES; i++) {
		add_sample(&s, 30, 32);
		add_event(&s, 30, 2);
	}
	CHECK_STR(traits_of(&s), "(string 31);{string 101};");
}
