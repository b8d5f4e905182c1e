/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>

#include "agent/sonde.h"
#include "agent_read.h"

static bool works_for(const struct sonde_span *span)
{
	const struct context_record *now = otel_thread_ctx_v1;

	return now && now->valid && !memcmp(now->span, span->id, 8) &&
	       !memcmp(now->trace, span->trace, 16);
}

TEST(spans_nest_on_a_thread)
{
	struct sonde_span a, b, c, root;
	static const uint8_t none[8];

	SONDE_BEGIN(&a, "a");
	CHECK(works_for(&a) && !memcmp(a.parent, none, 8));
	SONDE_BEGIN(&b, "b");
	CHECK(works_for(&b) && !memcmp(b.parent, a.id, 8) && !memcmp(b.trace, a.trace, 16));
	SONDE_BEGIN(&c, "c");
	CHECK(!memcmp(c.parent, b.id, 8));
	sonde_end(&c);
	CHECK(works_for(&b));
	sonde_end(&b);
	CHECK(works_for(&a));
	sonde_end(&b); /* no effect */
	CHECK(works_for(&a));
	sonde_end(&a);
	CHECK(!otel_thread_ctx_v1);
	SONDE_BEGIN(&root, "root");
	CHECK(memcmp(root.trace, a.trace, 16) != 0);
	sonde_end(&root);
}

TEST(a_span_can_be_uninitialised_memory)
{
	static const uint8_t none[8];
	struct sonde_span a;

	memset(&a, 0xff, sizeof(a));
	SONDE_BEGIN(&a, "a");
	CHECK(!memcmp(a.parent, none, 8));
	CHECK_INT(a.attributes_size, 0);
	CHECK_INT(a.dropped, 0);
	CHECK_INT(a.trace_flags, 1);
	sonde_end(&a);
	CHECK(!otel_thread_ctx_v1);
}

TEST(a_span_can_end_after_its_context_was_replaced)
{
	static const uint8_t trace[16] = { 1 }, id[8] = { 2 };
	struct sonde_span a;

	SONDE_BEGIN(&a, "a");
	sonde_agent_clear_context();
	sonde_end(&a);
	CHECK(!otel_thread_ctx_v1);
	SONDE_BEGIN(&a, "a");
	sonde_agent_set_unknown_context();
	sonde_end(&a);
	CHECK(otel_thread_ctx_v1 && !otel_thread_ctx_v1->valid);
	SONDE_BEGIN(&a, "a");
	sonde_agent_set_context(trace, id, 0);
	sonde_end(&a);
	CHECK(otel_thread_ctx_v1 && !memcmp(otel_thread_ctx_v1->span, id, 8));
	sonde_agent_clear_context();
}

static void *go_on(void *span)
{
	CHECK(!otel_thread_ctx_v1);
	sonde_attach(span);
	CHECK(works_for(span));
	sonde_detach(span);
	CHECK(!otel_thread_ctx_v1);
	return NULL;
}

TEST(a_span_moves_between_threads)
{
	struct sonde_span a, b;
	pthread_t thread;

	SONDE_BEGIN(&a, "a");
	SONDE_BEGIN(&b, "b");
	sonde_detach(&b);
	CHECK(works_for(&a));
	pthread_create(&thread, NULL, go_on, &b);
	pthread_join(thread, NULL);
	sonde_detach(&b); /* not attached: no effect */
	CHECK(works_for(&a));
	sonde_attach(&b);
	CHECK(works_for(&b));
	sonde_end(&b);
	CHECK(works_for(&a));
	sonde_end(&a);
}

TEST(a_detached_span_ends_without_a_context_change)
{
	struct sonde_span a, b;

	SONDE_BEGIN(&a, "a");
	sonde_detach(&a);
	SONDE_BEGIN(&b, "b");
	sonde_end(&a);
	CHECK(works_for(&b));
	sonde_end(&b);
	CHECK(!otel_thread_ctx_v1);
}

TEST(a_span_becomes_a_child_of_a_foreign_context)
{
	static const uint8_t trace[16] = { 1 }, id[8] = { 2 };
	struct sonde_span a;

	sonde_agent_set_context(trace, id, 0);
	SONDE_BEGIN(&a, "a");
	CHECK(!memcmp(a.parent, id, 8) && !memcmp(a.trace, trace, 16) && a.trace_flags == 0);
	sonde_end(&a);
	CHECK(!memcmp(otel_thread_ctx_v1->span, id, 8) && otel_thread_ctx_v1->trace_flags == 0);
	sonde_agent_set_unknown_context();
	SONDE_BEGIN(&a, "a");
	sonde_end(&a);
	CHECK(otel_thread_ctx_v1 && !otel_thread_ctx_v1->valid);
	sonde_agent_clear_context();
}

TEST(a_begin_and_an_end_also_write_context_events)
{
	struct sonde_span a;

	recorder_attach();
	SONDE_BEGIN(&a, "told");
	sonde_set_int(&a, "i", -5);
	sonde_set_double(&a, "d", 0.5);
	sonde_set_bool(&a, "b", true);
	sonde_set_string(&a, "t", "text");
	sonde_set_error(&a);
	struct span_ring *ring = ring_of((uint32_t)gettid());
	const struct span_event_begin *begin = ring_next(ring);
	const struct span_event_context *context = ring_next(ring);
	CHECK(begin->head.time <= context->head.time && begin->head.time == a.start);
	CHECK(!memcmp(context->span, a.id, 8) && begin->kind == SPAN_INTERNAL);
	sonde_end(&a);
	const struct span_event_end *end = ring_next(ring);
	CHECK(end->head.kind == SPAN_EVENT_END && end->head.flags == SPAN_ERROR);
	CHECK(end->tid == (uint32_t)gettid() && end->start == begin->head.time);
	CHECK_INT(end->attributes_size, 3 * (4 + 1 + 8) + 4 + 1 + 4);
	CHECK(!memcmp(end->text, "told\3\1\10\0i\373\377\377\377\377\377\377\377\4\1", 19));
	context = ring_next(ring);
	CHECK(context->head.time == end->head.time && !context->span[0]);
	CHECK(!ring_next(ring));
	recorder_detach();
}

TEST(attributes_that_do_not_fit_are_counted)
{
	struct sonde_span a;
	char text[300] = "";

	memset(text, 'x', sizeof(text) - 1);
	recorder_attach();
	struct span_ring *ring = own_ring_empty();
	SONDE_BEGIN(&a, "large");
	ring_next(ring);
	ring_next(ring);
	sonde_set_string(&a, "too long", text);
	for (int i = 0; i < 20; i++)
		sonde_set_int(&a, "number", i);
	sonde_end(&a);
	const struct span_event_end *end = ring_next(ring);
	const char *last = end->text + end->name_size + end->attributes_size - 8 - 24 - 4;
	CHECK(!memcmp(last, "\3\30\10\0sonde.dropped_attributes", 28));
	int64_t dropped;
	memcpy(&dropped, last + 28, 8);
	CHECK_INT(dropped, 1 + 20 - (256 - 36) / 18);
	own_ring_empty();
	recorder_detach();
}

static bool is_on(const char *name)
{
	struct sonde_site site = { name, NULL };
	struct sonde_span span;

	sonde_begin(&site, &span);
	bool on = span.site;
	sonde_end(&span);
	return on;
}

static const struct span_name *name_of(const char *text)
{
	const struct span_name *found = NULL;

	for (int i = 0; i < SPAN_NAMES; i++) {
		const struct span_name *name = &agent_arena->names[i];

		if (name->used && !strncmp(name->name, text, sizeof(name->name) - 1)) {
			CHECK(!found); /* one entry each */
			found = name;
		}
	}
	return found;
}

/* Exact up to a number, approximate beyond: within six standard deviations. */
TEST(spans_are_counted_by_name)
{
	const int more = 12800;

	for (int i = 1; i <= 1024; i++) {
		CHECK(is_on("counted"));
		CHECK_INT(name_of("counted")->count, i);
	}
	for (int i = 0; i < more; i++)
		is_on("counted");
	CHECK(llabs((long long)name_of("counted")->count - 1024 - more) < 6 * 14 * 64);
}

TEST(a_long_name_has_one_entry)
{
	char text[SPAN_NAME_MAX + 40];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	CHECK(is_on(text) && is_on(text));
	CHECK_INT(name_of(text)->count, 2);
}

TEST(names_are_switched_by_patterns)
{
	struct sonde_span outer, off, inner;

	CHECK(is_on("db.read") && is_on("db.write"));
	sonde_set_enabled("db.*", false);
	CHECK(!is_on("db.read") && !is_on("db.write") && !is_on("db.later") && is_on("cache"));
	sonde_set_enabled("db.write", true);
	CHECK(!is_on("db.read") && is_on("db.write"));
	sonde_set_enabled("db.*", true);
	CHECK(is_on("db.read") && is_on("db.new"));

	sonde_set_enabled("off", false);
	SONDE_BEGIN(&outer, "outer");
	SONDE_BEGIN(&off, "off");
	SONDE_BEGIN(&inner, "inner");
	CHECK(!memcmp(inner.parent, outer.id, 8));
	sonde_set_string(&off, "ignored", "");
	sonde_end(&inner);
	sonde_end(&off);
	CHECK(works_for(&outer));
	sonde_end(&outer);
}

TEST(without_free_rules_existing_names_are_still_switched)
{
	char pattern[16];

	CHECK(is_on("many.40"));
	for (int i = 0; i < 64; i++) {
		snprintf(pattern, sizeof(pattern), "many.%d", i);
		sonde_set_enabled(pattern, false);
	}
	CHECK(!is_on("many.40") && !is_on("many.5") && is_on("many.63"));
	sonde_set_enabled("many.40", true);
	CHECK(is_on("many.40"));
}

TEST(names_beyond_the_limit_are_always_on)
{
	char name[SPAN_NAME_MAX + 40];

	for (int i = 0; i < SPAN_NAMES + 10; i++) {
		snprintf(name, sizeof(name), "%08d%0*d", i, i % 2 ? 1 : SPAN_NAME_MAX + 20, i);
		CHECK(is_on(name));
	}
	CHECK(is_on("one more"));

	int used = 0;

	for (int i = 0; i < SPAN_NAMES; i++)
		used += agent_arena->names[i].used != 0;
	CHECK_INT(used, SPAN_NAMES);
}

static void started_with_off(void)
{
	setenv("SONDE_SPANS_DISABLED", "a*,,b?", 1);
	CHECK(!is_on("abc") && !is_on("bc") && is_on("bcd") && is_on("c"));
}

static void with_environment(void)
{
	agent_arena = NULL; /* as after an execve() */
	started_with_off();
}

TEST(the_environment_switches_names_off_from_the_start)
{
	CHECK(in_child(with_environment));
}

TEST(a_traceparent_header_sets_the_parent)
{
	struct sonde_site site = { "serve", NULL };
	struct sonde_span span, child;
	char text[SONDE_TRACEPARENT_SIZE];
	static const char given[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
	static const uint8_t none[8];

	sonde_begin_remote(&site, given, &span);
	CHECK(works_for(&span) && span.trace[0] == 0x0a && span.parent[7] == 0x31);
	CHECK_INT(span.kind, SPAN_SERVER);
	SONDE_BEGIN(&child, "child");
	CHECK_INT(strlen(sonde_traceparent(&child, text)), 55);
	CHECK(!strncmp(text, given, 36) && strncmp(text + 36, given + 36, 16) &&
	      !strcmp(text + 52, "-01"));

	static const char *const broken[] = {
		NULL,
		"",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-",
		"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	};
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct sonde_span root;

		sonde_begin_remote(&site, broken[i], &root);
		CHECK(!memcmp(root.parent, none, 8) && memcmp(root.trace, span.trace, 16));
		sonde_end(&root);
		CHECK(works_for(&child));
	}
	struct sonde_span later;
	sonde_begin_remote(&site, "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
			   &later);
	CHECK(!memcmp(later.trace, span.trace, 16));
	sonde_end(&later);
	sonde_end(&child);
	sonde_end(&span);
	CHECK_STR(sonde_traceparent(&span, text), "");
}
