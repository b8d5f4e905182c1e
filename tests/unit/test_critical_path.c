/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path of a trace over several services. */
#include "annotate/critical_path.h"

#include <string.h>

#include "story.h"
#include "test.h"

enum { REALTIME = 1000000, ROOT = 7, CHILD = 8, FRONT = 20, BACK = 21 };

static const struct critical_path_options options = { .realtime = REALTIME,
						      .start = 1000 + REALTIME,
						      .end = 9000 + REALTIME,
						      .spans_max = CRITICAL_PATH_SPANS };

/* A span of another service than the others. */
static void back_span(struct story *s, nsec_t start, nsec_t end, uint32_t tid)
{
	story_add(s,
		  REC(SPAN, span, end, tid, .start = start, .trace = { 1, s->trace },
		      .span = { CHILD }, .parent = { ROOT }, .service = BACK, .operation = CHILD));
}

/* Thread 1 works for the root, thread 2 of another process for its child, which sleeps. */
static struct model *two_services(void)
{
	_cleanup_(story_done) struct story s = { 0 };

	story_begin(&s, 1, 0);
	story_begin(&s, 2, 0);
	story_run(&s, 1, 0, 2000);
	story_wait(&s, 1, 2000, 8000, STATE_NETWORK, 0);
	story_run(&s, 1, 8000, 10000);
	story_run(&s, 2, 0, 3000);
	story_wait(&s, 2, 3000, 7000, STATE_TIMER, 0);
	story_run(&s, 2, 7000, 10000);
	story_span(&s, 1000, 9000, ROOT, 0, 1);
	back_span(&s, 2000, 8000, 2);
	return story_model(&s);
}

static struct otlp_writer begin_request(void)
{
	struct otlp_writer w = { 0 };

	otlp_begin_resource(&w, &(struct otlp_resource){ 0 });
	otlp_begin_scope(&w, &(struct otlp_scope){ 0 });
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

static bool has_text(struct otlp_list list, const char *key, const char *text)
{
	struct otlp_value value;

	return find_attribute(list, key, &value) && value.type == OTLP_STRING &&
	       view_is(value.text, text);
}

TEST(the_path_has_the_time_of_each_service_and_the_service_of_the_cause)
{
	_cleanup_(model_freep) struct model *model = two_services();
	struct span_set spans = { .model = model };
	_cleanup_(otlp_writer_done) struct otlp_writer w = begin_request();
	struct otlp_reader reader;
	struct otlp_span path, part;

	CHECK_INT(critical_path_put(&spans, story_find_span(model, ROOT), &options, &w), 4);
	otlp_reader_init(&reader, otlp_end(&w));
	CHECK_INT(otlp_next_span(&reader, &path), 1);
	CHECK(view_is(path.name, "critical path"));
	CHECK_INT(path.start, options.start);
	CHECK_INT(path.end, options.end);
	CHECK(path.parent_span_id.len == 8 && path.parent_span_id.s[0] == ROOT);
	CHECK_INT(number_of(path.attributes, "sonde.path.time.string 20"), 2000);
	CHECK_INT(number_of(path.attributes, "sonde.path.time.string 21"), 6000);
	CHECK(has_text(path.attributes, "sonde.path.service", "string 21"));
	CHECK(has_text(path.attributes, "sonde.state", "T"));
	CHECK_INT(number_of(path.attributes, "thread.id"), 2);

	CHECK_INT(otlp_next_span(&reader, &part), 1); /* the longest */
	CHECK(view_is(part.name, "string 21"));
	CHECK_INT(part.start, 2000 + REALTIME);
	CHECK_INT(part.end, 8000 + REALTIME);
	CHECK(memcmp(part.parent_span_id.s, path.span_id.s, 8) == 0);
}

TEST(the_path_has_the_same_bytes_each_time)
{
	_cleanup_(model_freep) struct model *model = two_services();
	struct span_set spans = { .model = model };
	_cleanup_(otlp_writer_done) struct otlp_writer a = begin_request(), b = begin_request();

	critical_path_put(&spans, story_find_span(model, ROOT), &options, &a);
	critical_path_put(&spans, story_find_span(model, ROOT), &options, &b);

	struct view x = otlp_end(&a), y = otlp_end(&b);

	CHECK(x.len == y.len && memcmp(x.s, y.s, x.len) == 0);
}

TEST(a_full_trace_gets_the_path_without_its_stretches)
{
	_cleanup_(model_freep) struct model *model = two_services();
	struct span_set spans = { .model = model };
	_cleanup_(otlp_writer_done) struct otlp_writer w = begin_request();
	struct critical_path_options one = options;

	one.spans_max = 1;
	CHECK_INT(critical_path_put(&spans, story_find_span(model, ROOT), &one, &w), 1);
}

TEST(a_path_in_one_service_is_not_put)
{
	_cleanup_(model_freep) struct model *model = two_services();
	struct span_set spans = { .model = model };
	_cleanup_(otlp_writer_done) struct otlp_writer w = begin_request();

	CHECK_INT(critical_path_put(&spans, story_find_span(model, CHILD), &options, &w), 0);
}
