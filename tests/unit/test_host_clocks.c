/* SPDX-License-Identifier: Apache-2.0 */
/* The host of an input and the conversion of its times, from metadata: the inputs are not read. */
#include "read/clock/host_clocks.h"

#include "read/input_internal.h"
#include "test.h"

enum { INPUTS_MAX = 4 };
static const int64_t noon = 1700000000000000000;

struct scene {
	struct input inputs[INPUTS_MAX];
	struct host_clocks clocks;
	struct warnings warnings;
};

static void scene_done(struct scene *s)
{
	for (size_t i = 0; i < s->warnings.items.count; i++)
		free(s->warnings.items.items[i]);
	vec_done(&s->warnings.items);
	host_clocks_done(&s->clocks);
}

static void scene_solve(struct scene *s, size_t count)
{
	for (size_t i = 0; i < count; i++)
		host_clocks_add(&s->clocks, "no-such-file", &s->inputs[i]);
	host_clocks_solve(&s->clocks, NULL, &s->warnings);
}

static struct input capture(const char *host, int64_t realtime)
{
	return (struct input){ .host = { host, realtime },
			       .realtime_offset = realtime,
			       .has_realtime = true,
			       .is_monotonic = true };
}

static struct input spans(void)
{
	return (struct input){ .has_realtime = true };
}

/* Checks the host of a kernel trace and the offset of its clock. */
static void check_source(const struct scene *s, size_t i, uint16_t host, int64_t shift)
{
	_cleanup_(freep) struct source *source = host_clocks_sources(&s->clocks, i);

	CHECK_INT(source->host, host);
	CHECK_INT(source->shift, shift);
}

/* Checks the number of warnings and, unless words is NULL, the text of the first. */
static void check_warnings(const struct scene *s, size_t count, const char *words)
{
	CHECK_INT(s->warnings.items.count, count);
	if (s->warnings.items.count && words)
		CHECK(strstr(s->warnings.items.items[0], words));
}

TEST(a_trace_without_a_host_name_belongs_to_the_only_named_host)
{
	_cleanup_(scene_done) struct scene s = { .inputs = { { .host = { "", 0 },
							       .is_monotonic = true },
							     capture("web", noon),
							     { .host = { "", 0 },
							       .realtime_offset = noon + 7,
							       .has_realtime = true } } };

	scene_solve(&s, 3);
	CHECK_INT(s.clocks.hosts.count, 1);
	check_source(&s, 0, 0, 0);
	check_source(&s, 1, 0, 0);
	check_source(&s, 2, 0, 7);
	check_warnings(&s, 0, NULL);
}

TEST(a_trace_without_a_host_name_is_separate_if_there_are_several_hosts)
{
	_cleanup_(scene_done) struct scene s = { .inputs = { capture("web", noon),
							     capture("db", noon + 1000),
							     { .host = { "", 0 },
							       .realtime_offset = noon + 7,
							       .has_realtime = true } } };

	scene_solve(&s, 3);
	CHECK_INT(s.clocks.hosts.count, 3);
	check_source(&s, 1, 1, 1000);
	check_source(&s, 2, 2, 7);
	CHECK_INT(s.clocks.hosts.items[2].clock.alignment, MERGE_TOO_FEW_MESSAGES);
	CHECK_STR(s.clocks.hosts.items[2].clock.host, "");
	check_warnings(&s, 2, "cannot align the clocks of 'db' and 'web'");
}

TEST(two_traces_without_host_names_are_separate_hosts)
{
	_cleanup_(scene_done) struct scene s = { .inputs = { { .host = { "", 0 } },
							     { .host = { "", 0 } } } };

	scene_solve(&s, 2);
	CHECK_INT(s.clocks.hosts.count, 2);
	CHECK_INT(s.clocks.hosts.items[0].clock.alignment, MERGE_REFERENCE);
	CHECK_INT(s.clocks.hosts.items[1].clock.alignment, MERGE_UNALIGNED);
	CHECK_INT(s.clocks.hosts.items[1].clock.group, 1);
	check_warnings(&s, 1, "cannot align the clock of 'no-such-file' with ");
}

TEST(a_trace_with_a_monotonic_clock_joins_a_capture_of_the_same_host)
{
	_cleanup_(scene_done) struct scene s = { .inputs = { capture("web", noon),
							     { .host = { "web.example.org", 0 },
							       .is_monotonic = true } } };

	scene_solve(&s, 2);
	CHECK_INT(s.clocks.hosts.count, 1);
	check_source(&s, 1, 0, 0);
	check_warnings(&s, 0, NULL);
}

TEST(suspend_does_not_make_another_host)
{
	_cleanup_(scene_done) struct scene s = { .inputs = { capture("web", noon),
							     capture("web", noon + 10) } };

	s.inputs[0].host.boot -= 3600 * NSEC_PER_SEC; /* includes the time in suspend */
	scene_solve(&s, 2);
	CHECK_INT(s.clocks.hosts.count, 1);
	check_source(&s, 1, 0, 0);
}

TEST(another_clock_is_converted_by_the_time_of_day)
{
	_cleanup_(scene_done) struct scene s = { .inputs = { { .host = { "web", 0 },
							       .realtime_offset = noon - 50,
							       .has_realtime = true },
							     capture("web", noon) } };

	scene_solve(&s, 2);
	CHECK_INT(s.clocks.hosts.count, 1);
	check_source(&s, 0, 0, -50);
	check_source(&s, 1, 0,
		     0); /* the timeline is CLOCK_MONOTONIC, although that trace is second */
	check_warnings(&s, 0, NULL);
}

TEST(an_unknown_clock_is_unaligned)
{
	_cleanup_(scene_done) struct scene s = { .inputs = { { .host = { "web", 0 } },
							     capture("web", noon) } };

	scene_solve(&s, 2);
	CHECK_INT(s.clocks.hosts.count, 2);
	check_source(&s, 1, 0,
		     0); /* the timeline is the clock of the capture, which has more metadata */
	CHECK_INT(s.clocks.hosts.items[1].clock.alignment, MERGE_UNALIGNED);
	check_warnings(&s, 1, "trace-cmd record -C mono");
}

TEST(spans_are_not_correlated_with_a_trace_without_the_time_of_day)
{
	_cleanup_(scene_done) struct scene s = {
		.inputs = { { .host = { "web", 0 }, .is_monotonic = true }, spans() }
	};

	scene_solve(&s, 2);

	_cleanup_(freep) struct source *sources = host_clocks_sources(&s.clocks, 1);
	const struct source *source = &sources[host_clocks_find(&s.clocks, "web")];

	CHECK_INT(source->host, 1);
	CHECK_INT(source->group, 1);
	CHECK_INT(source->shift, 0);
	check_warnings(&s, 1, "with 'no-such-file', which does not contain the time of day");
}

TEST(spans_belong_to_the_host_that_they_name)
{
	_cleanup_(scene_done) struct scene s = {
		.inputs = { capture("web", noon), capture("db", noon + 1000), spans() }
	};

	scene_solve(&s, 3);

	_cleanup_(freep) struct source *sources = host_clocks_sources(&s.clocks, 2);

	CHECK_INT(host_clocks_find(&s.clocks, "db.local"), 1);
	CHECK_INT(host_clocks_find(&s.clocks, "cache"), 2);
	CHECK_INT(host_clocks_find(&s.clocks, ""), 2);
	for (size_t i = 0; i < 3; i++)
		CHECK_INT(sources[i].host, i);
	/* by the host's own time of day, which is not aligned with the other's */
	CHECK_INT(source_time(&sources[1], noon + 5000), 5000);
	CHECK_INT(sources[1].group, 1);
}

TEST(two_boots_of_one_host_need_no_warning)
{
	_cleanup_(scene_done) struct scene s = {
		.inputs = { capture("web", noon), capture("web", noon + 100 * NSEC_PER_SEC) }
	};

	scene_solve(&s, 2);
	CHECK_INT(s.clocks.hosts.count, 2);
	check_warnings(&s, 0, NULL);
}
