/* SPDX-License-Identifier: Apache-2.0 */
/* Subjects found by what a user typed. */
#include "load/slowest.h"

#include <errno.h>

#include "story.h"
#include "test.h"

/* Hands the model of a story to `loaded`, as loaded_open() does. */
static void load(struct story *s, struct loaded *loaded)
{
	loaded->model = story_model(s);
	loaded->spans.model = loaded->model;
	story_done(s);
}

/* Trace 0100... has two roots; trace 0102... has one. */
static void load_traces(struct loaded *loaded)
{
	struct story s = { 0 };

	story_span(&s, 10, 50, 1, 0, 0);
	story_span(&s, 20, 40, 2, 1, 0);
	story_span(&s, 60, 70, 3, 0, 0);
	s.trace = 2;
	story_span(&s, 10, 90, 4, 0, 0);
	load(&s, loaded);
}

TEST(a_trace_is_found_by_the_first_digits_of_its_id)
{
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	struct subject subject;
	struct err err;

	load_traces(&loaded);
	CHECK_INT(subject_find_trace(&loaded, "0102", &subject, &err), 0);
	CHECK_INT(subject.from, 10);
	CHECK_INT(subject.to, 90);
	CHECK_INT(loaded.warnings.items.count, 0);
}

TEST(leading_zeros_of_an_id_can_be_omitted)
{
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	struct subject subject;
	struct err err;

	load_traces(&loaded);
	CHECK_INT(subject_find_trace(&loaded, "102", &subject, &err), 0);
	CHECK_INT(subject.to, 90);
}

TEST(several_matching_traces_give_the_longest_and_a_warning)
{
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	struct subject subject;
	struct err err;

	load_traces(&loaded);
	CHECK_INT(subject_find_trace(&loaded, "01", &subject, &err), 0);
	CHECK_INT(subject.to, 90);
	CHECK_INT(loaded.warnings.items.count, 1);
	CHECK_STR(loaded.warnings.items.items[0],
		  "several traces begin with '01'; this is the longest");
}

TEST(a_trace_with_several_roots_gives_the_longest_and_a_warning)
{
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	struct subject subject;
	struct err err;

	load_traces(&loaded);
	CHECK_INT(subject_find_trace(&loaded, "0100", &subject, &err), 0);
	CHECK_INT(subject.to, 50);
	CHECK_STR(loaded.warnings.items.items[0], "trace '0100' has 2 roots; this is the longest");
}

TEST(an_unknown_span_is_an_error)
{
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	struct subject subject;
	struct err err;

	load_traces(&loaded);
	CHECK_INT(subject_find_span(&loaded, "02", &subject, &err), 0);
	CHECK_INT(subject.from, 20);
	CHECK_INT(subject_find_span(&loaded, "77", &subject, &err), -ENOENT);
	CHECK_STR(err.text, "there is no span '77'");
}

TEST(the_slowest_requests_are_roots_by_duration)
{
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	_cleanup_(slowest_done) struct slowest found;
	struct err err;

	load_traces(&loaded);
	CHECK_INT(slowest_find(&loaded, &(struct selection){ 0 }, 2, &found, &err), 0);
	CHECK_INT(found.list.count, 2);
	CHECK_INT(found.list.items[0].to, 90);
	CHECK_INT(found.list.items[1].to, 50);
}

TEST(a_thread_is_clipped_to_the_requested_time)
{
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	struct story s = { 0 };
	struct subject subject;
	struct err err;

	story_begin(&s, 7, 0);
	story_run(&s, 7, 0, 100);
	load(&s, &loaded);
	CHECK_INT(subject_find_thread(loaded.model, 7, 10, 50, &subject, &err), 0);
	CHECK_INT(subject.to - subject.from, 40);
	CHECK_INT(subject_find_thread(loaded.model, 8, 0, 0, &subject, &err), -ENOENT);
}
