/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes perf.data files built by hand; see perf_fixture.h for the notation of events. */
#include "perf_fixture.h"

static void check_form(struct perf_build b)
{
	begin_default(&b);
	b.host = "box";
	comm(&b, 11, "early", 0);
	waking(&b, 1, 11, 1000, 21);
	waking(&b, 1, 11, 3000, 22);
	round_ends(&b);
	waking(&b, 0, 12, 2000, 23);
	round_ends(&b);

	_cleanup_(result_done) struct result r = read_built(&b);

	CHECK_INT(r.code, 0);
	CHECK_STR(r.text, "-1@0 1000 task:11,10,0,-1,early\n11@1 1000 waking:21\n"
			  "12@0 2000 waking:23\n11@1 3000 waking:22\n");
	CHECK_STR(r.raw->host, "box");
	CHECK(r.raw->has_kinds && r.raw->kinds & 1u << RAW_WAKING);
}

TEST(files_and_pipes_of_both_byte_orders_contain_the_same_events)
{
	for (unsigned form = 0; form < 4; form++) {
		bool swap = form & 1, pipe = form & 2;

		check_form((struct perf_build){ .swap = swap, .pipe = pipe });
#ifdef HAVE_ZSTD
		check_form((struct perf_build){ .swap = swap, .pipe = pipe, .compress = true });
		check_form((struct perf_build){
			.swap = swap, .pipe = pipe, .compress = true, .aligned = true });
		/* records that span two chunks */
		check_form((struct perf_build){
			.swap = swap, .pipe = pipe, .compress = true, .chunk = 13 });
#endif
	}
}

#ifdef HAVE_ZSTD
TEST(the_decompressed_size_of_a_file_is_limited)
{
	struct perf_build b = { .compress = true, .chunk = 60000 };

	begin_default(&b);
	waking(&b, 1, 11, 1000, 21);
	for (unsigned i = 0; i < 1200; i++) { /* of a type that is ignored */
		perf_begin(&b, 1, 0);
		perf_text(&b, "", 60000);
		perf_end(&b);
	}
	round_ends(&b);
	waking(&b, 1, 11, 2000, 22);

	_cleanup_(result_done) struct result r = read_built(&b);

	CHECK_INT(r.code, 0);
	CHECK_STR(r.text, "11@1 1000 waking:21\n");
	CHECK(strstr(r.raw->warning ?: "", "its decompressed size exceeds the limit"));
}
#endif

TEST(an_event_has_its_name_its_fields_and_its_data)
{
	struct perf_build b = { 0 };
	struct raw_event event;
	size_t size;

	begin_default(&b);
	waking(&b, 1, 11, 1000, 21);

	_cleanup_(result_done) struct result r = { .file = perf_build_finish(&b) };

	CHECK_INT(perf_open_memory("x", (char *)r.file.data, r.file.size, &r.input, &r.err), 0);
	r.raw = input_raw(r.input);
	CHECK_INT(r.raw->next(r.raw, &event, &r.err), 1);
	CHECK_INT(event.pid, 10);
	CHECK_INT(event.wake.comm.len, 7);
	CHECK(memcmp(event.wake.comm.s, "sleeper", 7) == 0);
	CHECK_STR(r.raw->name(r.raw), "sched:sched_waking");
	CHECK_STR(r.raw->type_name(r.raw, WAKING), "sched:sched_waking");
	CHECK_STR(r.raw->type_format(r.raw, WAKING), waking_format);
	CHECK(!r.raw->type_format(r.raw, SWITCH));
	CHECK(r.raw->data(r.raw, &size) && size == 32);
	CHECK_INT(r.raw->next(r.raw, &event, &r.err), 0);
}

TEST(synthesized_records_describe_the_existing_threads)
{
	struct perf_build b = { 0 };

	begin_default(&b);
	fork_or_exit(&b, PERF_FORK, 2, 0, 0);
	comm(&b, 2, "kthr", 0);
	fork_or_exit(&b, PERF_FORK, 30, 2, 0);
	comm(&b, 30, "kwork", 0);
	fork_or_exit(&b, PERF_FORK, 41, 40, 0);
	comm(&b, 41, "thread", 0);
	waking(&b, 0, 41, 500, 30);

	_cleanup_(result_done) struct result r = read_built(&b);

	CHECK_STR(r.text, "-1@0 500 task:2,2,0,1,kthr\n-1@0 500 task:30,30,2,1,kwork\n"
			  "-1@0 500 task:41,40,40,0,thread\n41@0 500 waking:30\n");
}

TEST(fork_and_exit_records_create_and_end_threads)
{
	struct perf_build b = { 0 };

	begin_default(&b);
	fork_or_exit(&b, PERF_FORK, 12, 11, 100);
	comm(&b, 12, "new", 150);
	fork_or_exit(&b, PERF_EXIT, 12, 12, 200);

	_cleanup_(result_done) struct result r = read_built(&b);

	CHECK_STR(r.text, "11@1 100 fork:11,12,10\n12@0 150 task:12,10,0,-1,new\n"
			  "12@1 200 exit:12\n");
}

TEST(a_loss_begins_at_the_last_event_of_its_cpu)
{
	struct perf_build b = { 0 };

	begin_default(&b);
	waking(&b, 1, 11, 100, 12);
	waking(&b, 0, 21, 200, 22);
	perf_begin(&b, PERF_LOST, 0);
	perf_u(&b, 8, 70);
	perf_u(&b, 8, 123);
	end_other(&b, 1, 11, 300);
	perf_begin(&b, PERF_LOST_SAMPLES, 0);
	perf_u(&b, 8, 7);
	end_other(&b, 1, 11, 400);
	perf_begin(&b, PERF_LOST_SAMPLES, PERF_MISC_NOT_LOST);
	perf_u(&b, 8, 9);
	end_other(&b, 1, 11, 500);

	_cleanup_(result_done) struct result r = read_built(&b);

	CHECK_STR(r.text, "11@1 100 waking:12\n21@0 200 waking:22\n11@1 300 lost:100,123\n"
			  "11@1 400 lost:300,7\n");
}

TEST(throttling_is_a_loss_of_unknown_size)
{
	struct perf_build b = { 0 };

	begin_default(&b);
	waking(&b, 1, 11, 100, 12);
	perf_begin(&b, PERF_THROTTLE, 0);
	perf_u(&b, 8, 300);
	perf_u(&b, 8, 70);
	perf_u(&b, 8, 70);
	end_other(&b, 1, 11, 300);

	_cleanup_(result_done) struct result r = read_built(&b);

	CHECK_STR(r.text, "11@1 100 waking:12\n11@1 300 lost:100,0\n");
}

TEST(totals_at_the_end_are_not_counted_twice)
{
	struct perf_build b = { 0 };

	perf_build_attr(&b, &(struct build_attr){ 2, WAKING, DEFAULT_SAMPLE, PERF_READ_LOST,
						  DEFAULT_FLAGS, 0, 70, NULL });
	perf_build_format(&b, "sched", waking_format);
	waking(&b, 1, 11, 100, 12);
	perf_begin(&b, PERF_LOST, 0);
	perf_u(&b, 8, 70);
	perf_u(&b, 8, 20);
	end_other(&b, 1, 11, 300);
	waking(&b, 1, 11, 400, 12);
	for (unsigned i = 0; i < 3; i++) {
		perf_begin(&b, PERF_LOST_SAMPLES, 0);
		perf_u(&b, 8, 9);
		end_other(&b, 1, 11, 0);
	}

	_cleanup_(result_done) struct result r = read_built(&b);

	CHECK_STR(r.text, "11@1 100 waking:12\n11@1 300 lost:100,20\n11@1 400 waking:12\n"
			  "-1@0 400 lost:100,7\n");
}

/* A sample with all fields that can precede its data. */
static struct result read_full(uint64_t read, uint64_t counters, uint64_t frames, size_t words)
{
	struct perf_build b = { 0 };

	perf_build_attr(&b, &(struct build_attr){ .type = 2,
						  .config = WAKING,
						  .sample = DEFAULT_SAMPLE | PERF_HAS_ADDR |
							    PERF_HAS_STREAM | PERF_HAS_ID |
							    PERF_HAS_READ | PERF_HAS_CALLCHAIN,
						  .read = read,
						  .id = 70 });
	perf_build_format(&b, "sched", waking_format);
	perf_begin(&b, PERF_SAMPLE, 0);
	for (unsigned i = 0; i < 9; i++)
		perf_u(&b, 8, i == 0 ? 70 : i == 2 ? 11ull << 32 | 10 : i == 3 ? 900 : 1);
	perf_u(&b, 8, counters);
	for (size_t i = 1; i < words; i++)
		perf_u(&b, 8, 0xdead);
	perf_u(&b, 8, frames);
	for (uint64_t i = 0; i < frames && i < 100; i++)
		perf_u(&b, 8, 0xbeef);
	put_waking(&b, 11, 31);
	perf_end(&b);
	return read_built(&b);
}

TEST(counters_and_stacks_before_the_data_are_skipped)
{
	static const struct {
		uint64_t read, first;
		size_t words;
	} cases[] = {
		{ 0, 5, 1 },
		{ PERF_READ_ID | PERF_READ_LOST, 5, 3 },
		{ PERF_READ_ENABLED | PERF_READ_RUNNING, 5, 3 },
		{ PERF_READ_GROUP, 4, 5 },
		{ PERF_READ_GROUP | PERF_READ_ID, 2, 5 },
		{ PERF_READ_GROUP | PERF_READ_ID | PERF_READ_LOST | PERF_READ_ENABLED, 2, 8 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(result_done) struct result r =
			read_full(cases[i].read, cases[i].first, i, cases[i].words);

		CHECK_STR(r.text, "11@1 900 waking:31\n");
	}
}

TEST(counters_and_stacks_that_do_not_fit_leave_an_event_without_data)
{
	_cleanup_(result_done) struct result deep = read_full(0, 5, UINT64_MAX, 1);
	_cleanup_(result_done) struct result wide = read_full(PERF_READ_GROUP, UINT64_MAX, 0, 1);

	CHECK_STR(deep.text, "11@1 900 other:sched:sched_waking\n");
	CHECK_STR(wide.text, "11@1 900 other:sched:sched_waking\n");
}

TEST(an_event_other_than_a_tracepoint_has_its_name)
{
	struct perf_build b = { 0 };

	begin_default(&b);
	perf_build_attr(&b, &(struct build_attr){ 1, 0, DEFAULT_SAMPLE & ~PERF_HAS_RAW, 0,
						  DEFAULT_FLAGS, 0, 90, "cpu-clock" });
	begin_sample(&b, 90, 1, 11, 700);
	perf_end(&b);

	_cleanup_(result_done) struct result r = read_built(&b);

	CHECK_STR(r.text, "11@1 700 other:cpu-clock\n");
}

TEST(a_tracepoint_without_a_format_causes_a_warning)
{
	struct perf_build b = { 0 };

	begin_default(&b);
	perf_build_attr(&b, &(struct build_attr){ 2, SWITCH, DEFAULT_SAMPLE, 0, DEFAULT_FLAGS, 0,
						  80, "sched:sched_switch" });
	begin_sample(&b, 80, 1, 11, 700);
	put_waking(&b, 11, 31);
	perf_end(&b);

	_cleanup_(result_done) struct result r = read_built(&b);

	CHECK_STR(r.text, "11@1 700 other:sched:sched_switch\n");
	CHECK_HAS(input_warning(r.input), "does not contain the formats of 1 of its tracepoints");
}

TEST(a_thread_of_another_namespace_has_its_global_tid)
{
	struct perf_build b = { 0 };

	begin_default(&b);
	begin_sample(&b, 70, 1, 5, 700);
	put_waking(&b, 4711, 31);
	perf_end(&b);

	_cleanup_(result_done) struct result r = read_built(&b);

	CHECK_STR(r.text, "4711@1 700 waking:31\n");
}

TEST(switch_records_of_outgoing_threads_replace_missing_tracepoints)
{
	struct perf_build b = { 0 };

	begin_default(&b);
	perf_begin(&b, PERF_SWITCH_CPU_WIDE, PERF_MISC_SWITCH_OUT);
	perf_u(&b, 8, 22ull << 32 | 20);
	end_other(&b, 1, 11, 100);
	perf_begin(&b, PERF_SWITCH_CPU_WIDE, 0);
	perf_u(&b, 8, 11ull << 32 | 10);
	end_other(&b, 1, 22, 101);
	perf_begin(&b, PERF_SWITCH_CPU_WIDE, PERF_MISC_SWITCH_OUT | PERF_MISC_PREEMPTED);
	perf_u(&b, 8, 33ull << 32 | 30);
	end_other(&b, 1, 22, 200);

	_cleanup_(result_done) struct result r = read_built(&b);

	CHECK_STR(r.text, "11@1 100 switch:11,22,1\n22@1 200 switch:22,33,0\n");
}

static struct result read_clock(int32_t clock, uint64_t flags, uint64_t day, uint64_t now)
{
	struct perf_build b = { .day = day, .clock_now = now };

	perf_build_attr(&b, &(struct build_attr){ 2, WAKING, DEFAULT_SAMPLE, 0, flags, clock, 70,
						  NULL });
	perf_build_format(&b, "sched", waking_format);
	waking(&b, 1, 11, 1000, 21);
	return read_built(&b);
}

TEST(the_clock_is_that_of_the_attribute)
{
	const uint64_t use = 1ull << PERF_ATTR_USE_CLOCK;
	_cleanup_(result_done) struct result mono = read_clock(1, use, 5000, 3000);
	_cleanup_(result_done) struct result day = read_clock(0, use, 0, 0);
	_cleanup_(result_done) struct result own = read_clock(0, 0, 0, 0);

	CHECK(mono.raw->is_monotonic && mono.raw->has_realtime);
	CHECK_INT(mono.raw->realtime_offset, 2000);
	CHECK(!input_warning(mono.input));
	CHECK(!day.raw->is_monotonic && day.raw->has_realtime);
	CHECK_INT(day.raw->realtime_offset, 0);
	CHECK(!own.raw->is_monotonic && !own.raw->has_realtime);
	CHECK_HAS(input_warning(own.input), "-k CLOCK_MONOTONIC");
}

TEST(a_recording_of_some_processes_causes_a_warning)
{
	static const char format[] = "name: sched_switch\nID: 8\nformat:\n" COMMON_FIELDS;
	struct perf_build b = { 0 };

	perf_build_attr(&b, &(struct build_attr){ 2, SWITCH, DEFAULT_SAMPLE, 0, DEFAULT_FLAGS, 0,
						  80, NULL });
	perf_build_format(&b, "sched", format);
	perf_begin(&b, PERF_THREAD_MAP, 0);
	perf_u(&b, 8, 1);
	perf_u(&b, 8, 4711);
	perf_text(&b, "sh", 16);
	perf_end(&b);
	begin_sample(&b, 80, 1, 11, 700);
	put_waking(&b, 11, 31);
	perf_end(&b);

	_cleanup_(result_done) struct result r = read_built(&b);

	CHECK_HAS(input_warning(r.input), "record with -a");
}
