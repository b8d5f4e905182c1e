/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "build.h"
#include "event/kind.h"
#include "report/time_shift.h"
#include "test.h"
#include "capture_stream.h"

static const struct dump_filter everything = { .to = UINT64_MAX };

/* The dump of the capture in the scratch file "x"; the caller frees it. */
static char *dump(const struct dump_filter *filter, bool json)
{
	_cleanup_(capture_freep) struct capture *cap = NULL;
	struct err err = { "" };
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	CHECK_INT(capture_open(scratch("x"), &cap, &err), 0);
	CHECK_INT(capture_stream_dump(cap, filter, json, file, &err), 0);
	CHECK_STR(err.text, "");
	fclose(file);
	return text;
}

static void check_dump(const struct dump_filter *filter, bool json, const char *want)
{
	_cleanup_(freep) char *text = dump(filter, json);

	CHECK_STR(text, want);
}

/* Write a capture with these records, each made by REC(). */
#define CAPTURE(...) \
	do { \
		_cleanup_(capture_writer_freep) struct capture_writer *w = \
			build_capture(scratch("x")); \
		const struct record *records_[] = { __VA_ARGS__ }; \
		for (size_t i_ = 0; i_ < ARRAY_LEN(records_); i_++) \
			build_add(w, records_[i_]); \
		build_close(w); \
	} while (0)

#define TASK(when, tid, pid_, name, event_) \
	REC(TASK, task, when, tid, .pid = (pid_), .comm = capture_add_string(w, name), \
	    .event = (event_))

static const struct dump_filter intervals = {
	.kinds = 1u << RECORD_RUN | 1u << RECORD_WAIT,
	.to = UINT64_MAX,
};

TEST(a_wait_is_a_blocked_and_a_runnable_interval)
{
	CAPTURE(TASK(1000, 17, 16, "web", TASK_EXISTING), TASK(1000, 18, 16, "disk", TASK_EXISTING),
		REC(WAIT, wait, 1500, 17, .start = 1100, .woken = 1400, .waker = 18, .syscall = 202,
		    .state = STATE_LOCK, .ready = STATE_READY, .context = WAKE_TASK, .object = 4096,
		    .object_kind = OBJECT_FUTEX));
	check_dump(&intervals, true,
		   "{\"kind\":\"interval\",\"time\":1500,\"cpu\":0,\"tid\":17,\"pid\":16,"
		   "\"comm\":\"web\",\"state\":\"L\",\"start\":1100,\"end\":1400,"
		   "\"syscall\":\"futex\",\"object_type\":\"futex\",\"object_id\":4096,"
		   "\"woken_by\":\"task\",\"waker_tid\":18,\"waker_comm\":\"disk\"}\n"
		   "{\"kind\":\"interval\",\"time\":1500,\"cpu\":0,\"tid\":17,\"pid\":16,"
		   "\"comm\":\"web\",\"state\":\"C\",\"start\":1400,\"end\":1500}\n");
	check_dump(&intervals, false,
		   "    0.000000600  [000]      17 web              L      300 ns  futex  "
		   "futex 0x1000  woken by task 18 disk\n"
		   "    0.000000600  [000]      17 web              C      100 ns\n");
}

TEST(empty_parts_of_a_wait_are_omitted)
{
	CAPTURE(REC(WAIT, wait, 1500, 17, .start = 1100, .woken = 1100, .syscall = SYSCALL_NONE,
		    .state = STATE_UNKNOWN, .ready = STATE_THROTTLED, .flags = INTERVAL_PREEMPTED),
		REC(WAIT, wait, 1600, 17, .start = 1550, .woken = 1600, .syscall = SYSCALL_NONE,
		    .state = STATE_TIMER, .ready = STATE_READY, .context = WAKE_HRTIMER));
	check_dump(&intervals, false,
		   "    0.000000600  [000]      17                  Q      400 ns  preempted\n"
		   "    0.000000700  [000]      17                  T       50 ns  woken by "
		   "hrtimer\n");
}

TEST(an_interval_that_outlasts_the_recording_is_unfinished)
{
	CAPTURE(REC(RUN, run, 1500, 16, .start = 1100, .flags = INTERVAL_OPEN),
		REC(WAIT, wait, 1500, 17, .start = 1100, .woken = 1500, .syscall = SYSCALL_NONE,
		    .state = STATE_UNKNOWN, .ready = STATE_READY, .flags = INTERVAL_OPEN),
		REC(WAIT, wait, 1500, 18, .start = 1100, .woken = 1400, .syscall = SYSCALL_NONE,
		    .state = STATE_UNKNOWN, .ready = STATE_READY, .flags = INTERVAL_OPEN));
	check_dump(&intervals, false,
		   "    0.000000600  [000]      16                  R      400 ns  unfinished\n"
		   "    0.000000600  [000]      17                  ?      400 ns  unfinished\n"
		   "    0.000000600  [000]      18                  ?      300 ns\n"
		   "    0.000000600  [000]      18                  C      100 ns  unfinished\n");
}

/* Thread ID 17 belongs to process 16 first, then to a thread of process 30. */
static void build_reuse(void)
{
	CAPTURE(TASK(1000, 17, 16, "old", TASK_EXISTING), REC(RUN, run, 1100, 17, .start = 1000),
		REC(EXIT, exit, 1100, 17, .pid = 16), TASK(1200, 17, 30, "new", TASK_NEW),
		REC(RUN, run, 1300, 17, .start = 1200), TASK(1310, 17, 30, "newer", TASK_RENAMED),
		REC(RUN, run, 1400, 17, .start = 1350));
}

TEST(a_reused_thread_id_gets_the_name_of_its_new_thread)
{
	build_reuse();
	check_dump(&intervals, false,
		   "    0.000000200  [000]      17 old              R      100 ns\n"
		   "    0.000000400  [000]      17 new              R      100 ns\n"
		   "    0.000000500  [000]      17 newer            R       50 ns\n");
}

TEST(a_process_filter_follows_a_reused_thread_id)
{
	struct dump_filter filter = intervals;
	uint64_t pid = 16;

	build_reuse();
	filter.processes = &pid;
	filter.process_count = 1;
	check_dump(&filter, false,
		   "    0.000000200  [000]      17 old              R      100 ns\n");
	filter.kinds = 1u << RECORD_EXIT;
	check_dump(&filter, false,
		   "    0.000000200  [000]      17 old              exit           "
		   "status 0\n");
}

TEST(a_thread_filter_does_not_hide_losses)
{
	uint64_t tid = 16;
	struct dump_filter filter = { .threads = &tid, .thread_count = 1, .to = UINT64_MAX };

	CAPTURE(REC(RUN, run, 1100, 16, .start = 1000), REC(RUN, run, 1100, 17, .start = 1000),
		REC(LOSS, loss, 1200, 0, .start = 1150, .end = 1190, .count = 5),
		REC(CLOCK, clock, 1300, 0, .realtime = 1));
	check_dump(&filter, false,
		   "    0.000000200  [000]      16                  R      100 ns\n"
		   "    0.000000300  [000]                          loss                40 ns  "
		   "5 records lost\n");
	filter.kinds = kind_parse("interval");
	check_dump(&filter, false,
		   "    0.000000200  [000]      16                  R      100 ns\n");
}

TEST(a_range_of_time_counts_from_the_start)
{
	struct dump_filter filter = { .from = 200, .to = 300 };

	/* the capture starts at 900; the TASK record is older */
	CAPTURE(TASK(800, 17, 16, "web", TASK_EXISTING), REC(RUN, run, 1099, 17, .start = 1000),
		REC(RUN, run, 1100, 17, .start = 1000), REC(RUN, run, 1200, 17, .start = 1000),
		REC(RUN, run, 1201, 17, .start = 1000));
	check_dump(&filter, false,
		   "    0.000000200  [000]      17 web              R      100 ns\n"
		   "    0.000000300  [000]      17 web              R      200 ns\n");
	filter = (struct dump_filter){ .to = 0 };
	check_dump(&filter, false,
		   "   -0.000000100  [000]      17 web              task           "
		   "existing  of process 16  cgroup 0\n");
}

TEST(stacks_use_symbols_from_later_records)
{
	uint64_t tid = 17;
	struct dump_filter filter = { .kinds = 1u << RECORD_STACK, .to = UINT64_MAX };
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(scratch("x"));

	build_add(w, REC(FRAME, frame, 1000, 0, .frame = 1,
			 .module = capture_add_string(w, "[kernel]"), .address = 0x10));
	build_add(w,
		  REC(FRAME, frame, 1000, 0, .frame = 2, .module = capture_add_string(w, "/bin/a"),
		      .address = 0x20, .offset = 0x21));
	build_stack(w, 1000, 1, 1, 1); /* frames 1 and 2 */
	build_stack(w, 1000, 2, 1, 0);
	build_stack(w, 1000, 3, 0, 3); /* no record refers to it */
	build_add(w, REC(SAMPLE, sample, 1001, 17, .stack = 1));
	build_add(w, REC(SAMPLE, sample, 1002, 18, .stack = 2));
	build_add(w, REC(SYMBOL, symbol, 1003, 0, .frame = 1, .name = capture_add_string(w, "out"),
			 .depth = 1));
	build_add(w, REC(SYMBOL, symbol, 1003, 0, .frame = 1, .name = capture_add_string(w, "in")));
	build_close(w);

	check_dump(&filter, false,
		   "    0.000000100                                 stack          1  "
		   "in < out < /bin/a+0x21\n"
		   "    0.000000100                                 stack          2  in < out\n");
	filter.threads = &tid;
	filter.thread_count = 1;
	check_dump(
		&filter, true,
		"{\"kind\":\"stack\",\"time\":1000,\"stack\":1,\"kernel_frames\":[{\"address\":16,"
		"\"module\":\"[kernel]\",\"symbol\":\"in\",\"inlined\":[{\"symbol\":\"out\"}]}],"
		"\"user_frames\":[{\"address\":32,\"module\":\"/bin/a\",\"offset\":33}]}\n");
}

TEST(control_characters_in_names_are_escaped)
{
	CAPTURE(TASK(1000, 17, 16, "a\nb\x1b[2J\xff", TASK_EXISTING),
		REC(RUN, run, 1100, 17, .start = 1000));
	check_dump(&intervals, false,
		   "    0.000000200  [000]      17 a\\nb\\x1b[2J\\xff  R      100 ns\n");
}

TEST(a_failed_write_is_an_error)
{
	_cleanup_(capture_freep) struct capture *cap = NULL;
	struct err err;
	FILE *full = fopen("/dev/full", "w");

	build_reuse();
	CHECK_INT(capture_open(scratch("x"), &cap, &err), 0);
	CHECK_INT(capture_stream_dump(cap, &everything, true, full, &err), -ENOSPC);
	CHECK_STR(err.text, "cannot write: No space left on device");
	fclose(full);
}

TEST(every_listed_kind_can_be_parsed)
{
	_cleanup_(freep) char *list = kind_list();

	CHECK_INT(kind_parse("interval"), 1u << RECORD_RUN | 1u << RECORD_WAIT);
	CHECK_INT(kind_parse("run"), 0);
	CHECK_INT(kind_parse("frame"), 0);
	CHECK_INT(kind_parse(""), 0);
	for (char *name = strtok(list, ", "); name; name = strtok(NULL, ", "))
		CHECK(kind_parse(name) != 0);
}

TEST(a_shift_applies_to_every_time_of_a_record)
{
	struct source source = { .shift = 1000 };
	struct record_context context = {
		.head = { .time = 70, .kind = RECORD_CONTEXT, .words = sizeof(context) / 8 },
		.since = 60,
		.flags = CONTEXT_OBSERVED
	};
	struct record_wait wait = {
		.head = { .time = 70, .kind = RECORD_WAIT, .words = sizeof(wait) / 8 },
		.start = 40,
		.woken = 50
	};
	struct shifted_record room;
	const struct record *shifted = time_shift(&source, &context.head, &room);

	CHECK_INT(shifted->time, 1070);
	CHECK_INT(((const struct record_context *)shifted)->since, 1060);
	shifted = time_shift(&source, &wait.head, &room);
	CHECK_INT(shifted->time, 1070);
	CHECK_INT(((const struct record_wait *)shifted)->start, 1040);
	CHECK_INT(((const struct record_wait *)shifted)->woken, 1050);
	source.shift = 0;
	CHECK(time_shift(&source, &wait.head, &room) == &wait.head);
}

TEST(a_span_without_an_end_is_unfinished)
{
	const struct dump_filter spans = { .kinds = 1u << RECORD_SPAN, .to = UINT64_MAX };
	_cleanup_(freep) char *text = NULL;

	CAPTURE(REC(SPAN, span, 1100, 0, .start = 1000, .flags = SPAN_OPEN),
		REC(SPAN, span, 1200, 0, .start = 1000, .flags = SPAN_OPEN, .source = SPAN_INFERRED,
		    .kind = SPAN_CLIENT));
	text = dump(&spans, false);
	CHECK(strstr(text, "0000  unfinished\n"));
	CHECK(strstr(text, "0000  client  unfinished\n"));
}

TEST(without_a_start_times_count_from_the_first_span)
{
	_cleanup_(capture_freep) struct capture *cap = NULL;
	_cleanup_(freep) char *text = NULL;
	struct err err;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	CAPTURE(REC(ATTRIBUTE, attribute, 1100, 0, .type = ATTRIBUTE_INT),
		REC(SPAN, span, 1100, 0, .start = 1000));
	CHECK_INT(capture_open(scratch("x"), &cap, &err), 0);
	CHECK_INT(capture_stream_dump_from(cap, 0, &everything, false, file, &err), 0);
	fclose(file);
	CHECK(strncmp(text, "    0.000000100 ", 16) == 0);
	CHECK(strstr(text, "\n    0.000000100 "));
}
