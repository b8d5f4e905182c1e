/* SPDX-License-Identifier: Apache-2.0 */
#include "event/capture.h"

#include "build.h"
#include "event/capture_format.h"
#include "test.h"

static struct capture *open_or_null(const char *path)
{
	struct capture *cap = NULL;
	struct err err = { "" };

	CHECK_INT(capture_open(path, &cap, &err), 0);
	CHECK_STR(err.text, "");
	return cap;
}

/* Read all records in a range; returns their number, or the error. */
static int count(const struct capture *cap, nsec_t from, nsec_t to, nsec_t *ret_last)
{
	struct capture_cursor cur;
	const struct record *record;
	struct err err;
	int n = 0, r;

	capture_cursor_init(&cur, cap, from, to);
	while ((r = capture_next(&cur, &record, &err)) > 0) {
		CHECK(record->time >= from && record->time <= to);
		*ret_last = record->time;
		n++;
	}
	return r < 0 ? r : n;
}

TEST(meta_data_is_read_back)
{
	const char *path = scratch("meta");
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(path);
	build_close(w);
	_cleanup_(capture_freep) struct capture *cap = open_or_null(path);
	const struct capture_meta *meta = capture_meta(cap);
	uint64_t end;

	CHECK_STR(meta->host, build_meta.host);
	CHECK_STR(meta->kernel, build_meta.kernel);
	CHECK_STR(meta->machine, build_meta.machine);
	CHECK_STR(meta->command, build_meta.command);
	CHECK_STR(meta->tool, build_meta.tool);
	CHECK_INT(meta->cpu_count, 4);
	CHECK_INT(meta->start, 900);
	CHECK_INT(meta->realtime_offset, build_meta.realtime_offset);
	CHECK_INT(meta->boottime_offset, -5);
	CHECK_INT(meta->version, 1);
	CHECK(capture_is_complete(cap, &end));
	CHECK_INT(end, capture_size(w));
}

TEST(a_long_command_line_fits_into_the_header)
{
	const char *path = scratch("long");
	struct capture_meta meta = build_meta;
	_cleanup_(freep) char *command = must_alloc(100001);
	struct capture_writer *w = NULL;
	struct err err;

	memset(command, 'x', 100000);
	meta.command = command;
	meta.host = NULL;
	CHECK_INT(capture_create(path, &meta, &w, &err), 0);
	build_close(w);
	capture_writer_free(w);
	_cleanup_(capture_freep) struct capture *cap = open_or_null(path);

	CHECK_STR(capture_meta(cap)->host, "");
	CHECK_STR(capture_meta(cap)->command, command);
	CHECK_STR(capture_meta(cap)->tool, build_meta.tool);
}

TEST(every_kind_is_read_back_as_written)
{
	const char *path = scratch("kinds");
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(path);
	build_all_kinds(w);
	build_close(w);
	_cleanup_(capture_freep) struct capture *cap = open_or_null(path);
	unsigned seen[RECORD_KIND_COUNT] = { 0 };
	const struct record *record;
	struct capture_cursor cur;
	struct err err;

	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	for (nsec_t time = 1000; capture_next(&cur, &record, &err) > 0; time++) {
		CHECK_INT(record->time, time);
		seen[record->kind]++;
		if (record->kind == RECORD_PROBE_EVENT) {
			const struct record_probe_event *probe_event =
				(const struct record_probe_event *)record;

			CHECK_INT(probe_event->size, 5);
			CHECK(memcmp(probe_event->data, "abcde", 5) == 0);
		} else if (record->kind == RECORD_STACK) {
			const struct record_stack *stack = (const struct record_stack *)record;

			CHECK_INT(stack->user_count, 2);
			CHECK_INT(stack->frames[2], 3);
		} else if (record->kind == RECORD_FILE) {
			const struct record_file *file = (const struct record_file *)record;

			CHECK_STR(capture_get_string(cap, file->name), "dump.rdb");
		}
	}
	for (unsigned kind = 1; kind < RECORD_KIND_COUNT; kind++)
		CHECK_INT(seen[kind], 1);
	CHECK_INT(cur.unknown, 0);
}

TEST(strings_are_read_back_by_their_ids)
{
	const char *path = scratch("strings");
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(path);
	char text[32];
	struct err err;

	CHECK_INT(capture_add_string(w, ""), 0);
	for (unsigned i = 1; i <= 70001; i++) {
		snprintf(text, sizeof(text), "string %u", i);
		CHECK_INT(capture_add_string(w, text), i);
		if (i % 30011 == 0)
			CHECK_INT(capture_flush(w, &err), 0);
	}
	build_close(w);
	_cleanup_(capture_freep) struct capture *cap = open_or_null(path);

	for (unsigned i = 1; i <= 70001; i++) {
		snprintf(text, sizeof(text), "string %u", i);
		CHECK_STR(capture_get_string(cap, i), text);
	}
	CHECK_STR(capture_get_string(cap, 0), "");
	CHECK_STR(capture_get_string(cap, 70002), "");
	CHECK_STR(capture_get_string(cap, UINT32_MAX), "");
}

TEST(a_time_range_has_exactly_its_records)
{
	enum { RECORDS = 50021 }; /* six blocks */
	const char *path = scratch("range");
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(path);
	nsec_t last = 0;

	for (nsec_t t = 0; t < RECORDS; t++)
		build_add(w, REC(RUN, run, t, 1, .start = t));
	build_close(w);
	_cleanup_(capture_freep) struct capture *cap = open_or_null(path);

	CHECK_INT(count(cap, 0, UINT64_MAX, &last), RECORDS);
	CHECK_INT(count(cap, 20000, 30000, &last), 10001);
	CHECK_INT(last, 30000);
	CHECK_INT(count(cap, RECORDS - 1, UINT64_MAX, &last), 1);
	CHECK_INT(count(cap, RECORDS, UINT64_MAX, &last), 0);
	CHECK_INT(count(cap, 30000, 20000, &last), 0);
}

TEST(records_out_of_order_are_found_by_their_time)
{
	const char *path = scratch("order");
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(path);
	nsec_t last = 0;

	build_add(w, REC(RUN, run, 500, 1, .start = 1));
	build_add(w, REC(RUN, run, 100, 1, .start = 1));
	build_add(w, REC(RUN, run, 300, 1, .start = 1));
	build_close(w);
	_cleanup_(capture_freep) struct capture *cap = open_or_null(path);

	CHECK_INT(count(cap, 0, 200, &last), 1);
	CHECK_INT(last, 100);
	CHECK_INT(count(cap, 400, 1000, &last), 1);
	CHECK_INT(last, 500);
}

TEST(two_cursors_are_independent)
{
	const char *path = scratch("cursors");
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(path);
	build_all_kinds(w);
	build_close(w);
	_cleanup_(capture_freep) struct capture *cap = open_or_null(path);
	struct capture_cursor a, b;
	const struct record *record;
	struct err err;
	nsec_t last = 0;

	capture_cursor_init(&a, cap, 0, UINT64_MAX);
	capture_cursor_init(&b, cap, 1015, UINT64_MAX);
	CHECK_INT(capture_next(&a, &record, &err), 1);
	CHECK_INT(record->time, 1000);
	CHECK_INT(capture_next(&b, &record, &err), 1);
	CHECK_INT(record->time, 1015);
	CHECK_INT(count(cap, 0, UINT64_MAX, &last), RECORD_KIND_COUNT - 1);
	CHECK_INT(capture_next(&a, &record, &err), 1);
	CHECK_INT(record->time, 1001);
}

TEST(unknown_kinds_are_skipped)
{
	const char *path = scratch("unknown");
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(path);
	struct record_run later = { .head = { .time = 2, .kind = RECORD_KIND_COUNT, .words = 4 } };
	struct record last_kind = { .time = 3, .kind = 255, .words = 2 };

	build_add(w, REC(RUN, run, 1, 1, .start = 1));
	build_add(w, &later.head);
	build_add(w, &last_kind);
	build_add(w, REC(RUN, run, 4, 1, .start = 1));
	build_close(w);
	_cleanup_(capture_freep) struct capture *cap = open_or_null(path);
	const struct record *record;
	struct capture_cursor cur;
	struct err err;

	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	CHECK_INT(capture_next(&cur, &record, &err), 1);
	CHECK_INT(capture_next(&cur, &record, &err), 1);
	CHECK_INT(record->time, 4);
	CHECK_INT(capture_next(&cur, &record, &err), 0);
	CHECK_INT(cur.unknown, 2);
}

TEST(a_record_with_new_fields_keeps_its_known_part)
{
	const char *path = scratch("grown");
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(path);
	struct {
		struct record_run run;
		uint64_t news[3];
	} grown = { { .head = { .time = 9, .kind = RECORD_RUN, .words = 7 }, .start = 8 }, { 1 } };

	build_add(w, &grown.run.head);
	build_add(w, REC(RUN, run, 10, 1, .start = 9));
	build_close(w);
	_cleanup_(capture_freep) struct capture *cap = open_or_null(path);
	nsec_t last = 0;

	CHECK_INT(count(cap, 0, UINT64_MAX, &last), 2);
	CHECK_INT(last, 10);
}

TEST(a_record_too_short_for_its_kind_is_not_written)
{
	const char *path = scratch("short");
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(path);
	struct record_wait wait = { .head = { .kind = RECORD_WAIT, .words = 7 } };
	struct record_probe_event probe_event = {
		.head = { .kind = RECORD_PROBE_EVENT, .words = 3 }, .size = 1
	};
	struct err err;

	CHECK(capture_write(w, &wait.head, &err) < 0);
	CHECK_STR(err.text, "a record of kind 2 needs more than 56 bytes");
	CHECK(capture_write(w, &probe_event.head, &err) < 0);
	probe_event.size = 0;
	CHECK_INT(capture_write(w, &probe_event.head, &err), 0);
	CHECK_INT(capture_close(w, &err), 0);
}

TEST(structs_are_no_shorter_than_their_first_version)
{
	static const struct {
		enum record_kind kind;
		size_t size;
	} now[] = {
		{ RECORD_RUN, sizeof(struct record_run) },
		{ RECORD_WAIT, sizeof(struct record_wait) },
		{ RECORD_TASK, sizeof(struct record_task) },
		{ RECORD_EXIT, sizeof(struct record_exit) },
		{ RECORD_MESSAGE, sizeof(struct record_message) },
		{ RECORD_SOCKET, sizeof(struct record_socket) },
		{ RECORD_FILE, sizeof(struct record_file) },
		{ RECORD_SOCKET_STATE, sizeof(struct record_socket_state) },
		{ RECORD_SYSCALL, sizeof(struct record_syscall) },
		{ RECORD_BLOCK, sizeof(struct record_block) },
		{ RECORD_PROBE_EVENT, sizeof(struct record_probe_event) },
		{ RECORD_SAMPLE, sizeof(struct record_sample) },
		{ RECORD_STACK, sizeof(struct record_stack) },
		{ RECORD_FRAME, sizeof(struct record_frame) },
		{ RECORD_SYMBOL, sizeof(struct record_symbol) },
		{ RECORD_LOSS, sizeof(struct record_loss) },
		{ RECORD_CLOCK, sizeof(struct record_clock) },
		{ RECORD_PROCESS, sizeof(struct record_process) },
		{ RECORD_PROBE_TYPE, sizeof(struct record_probe_type) },
		{ RECORD_DEVICE, sizeof(struct record_device) },
		{ RECORD_SPAN, sizeof(struct record_span) },
		{ RECORD_CONTEXT, sizeof(struct record_context) },
		{ RECORD_ATTRIBUTE, sizeof(struct record_attribute) },
		{ RECORD_COUNTER, sizeof(struct record_counter) },
		{ RECORD_TRANSMIT, sizeof(struct record_transmit) },
		{ RECORD_EPOCH, sizeof(struct record_epoch) },
		{ RECORD_UNREAD, sizeof(struct record_unread) },
	};

	CHECK_INT(ARRAY_LEN(now), RECORD_KIND_COUNT - 1);
	for (size_t i = 0; i < ARRAY_LEN(now); i++) {
		CHECK_INT(now[i].kind, i + 1);
		CHECK(now[i].size >= 8u * record_first_words[now[i].kind]);
	}
}

TEST(an_unclosed_capture_is_incomplete_and_readable)
{
	const char *path = scratch("open");
	struct capture_writer *w = build_capture(path);
	nsec_t last = 0;
	struct err err;

	build_add(w, REC(RUN, run, 1, 1, .start = 1));
	CHECK_INT(capture_flush(w, &err), 0);
	build_add(w, REC(RUN, run, 2, 1, .start = 1));
	uint64_t size = capture_size(w), end;

	capture_writer_free(w);
	_cleanup_(capture_freep) struct capture *cap = open_or_null(path);

	CHECK(!capture_is_complete(cap, &end));
	CHECK_INT(end, size);
	CHECK_INT(count(cap, 0, UINT64_MAX, &last), 1);
}

TEST(a_capture_can_be_read_while_it_is_recorded)
{
	const char *path = scratch("live");
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(path);
	nsec_t last = 0;
	struct err err;

	for (nsec_t t = 1; t <= 11; t++) {
		build_add(w, REC(RUN, run, t, 1, .start = t));
		CHECK_INT(capture_flush(w, &err), 0);
		_cleanup_(capture_freep) struct capture *cap = open_or_null(path);

		CHECK_INT(count(cap, 0, UINT64_MAX, &last), t);
		CHECK_INT(last, t);
		CHECK(!capture_is_complete(cap, NULL));
	}
	CHECK_INT(capture_flush(w, &err), 0);
}
