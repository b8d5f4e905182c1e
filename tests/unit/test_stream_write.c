/* SPDX-License-Identifier: Apache-2.0 */
#include "event/stream_write.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "event/capture_format.h"
#include "stream_build.h"
#include "test.h"

#define MIB ((size_t)1 << 20)

static void add(struct stream_pair *pair, const struct record *record)
{
	struct err err = { "" };

	CHECK_INT(stream_writer_write(pair->writer, record, &err), 0);
}

static void poll_at(struct stream_pair *pair, nsec_t now)
{
	struct err err = { "" };

	CHECK_INT(stream_writer_poll(pair->writer, now, &err), 0);
}

static void begin_epoch(struct stream_pair *pair, nsec_t now)
{
	struct err err = { "" };

	CHECK_INT(stream_writer_begin_epoch(pair->writer, now, &err), 0);
}

/* What a reader gets until the stream has no more for it. */
struct received {
	int end; /* result of the last call */
	uint64_t records, runs, losses, lost, epochs;
	uint64_t last_loss_cpu;
	nsec_t last, loss_start, loss_end;
	const char *last_comm;
};

static struct received receive(struct stream_pair *pair)
{
	struct received got = { 0 };
	const struct record *record;
	struct err err = { "" };

	while ((got.end = stream_pair_next(pair, &record, &err)) > 0) {
		const struct record_loss *loss = (const void *)record;

		got.records++;
		got.last = record->time;
		got.runs += record->kind == RECORD_RUN;
		got.epochs += record->kind == RECORD_EPOCH;
		if (record->kind == RECORD_TASK)
			got.last_comm = stream_reader_get_string(
				pair->reader, ((const struct record_task *)record)->comm);
		if (record->kind != RECORD_LOSS)
			continue;
		got.losses++;
		got.lost += loss->count;
		got.last_loss_cpu = record->cpu;
		got.loss_start = loss->start;
		got.loss_end = loss->end;
	}
	return got;
}

/* Write `count` records with ascending times, polling as the recorder does; returns the next. */
static nsec_t write_runs(struct stream_pair *pair, nsec_t from, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		add(pair, REC(RUN, run, from + i, 5, .start = from + i - 1));
		if (i % 1000 == 0)
			poll_at(pair, from + i);
	}
	return from + count;
}

TEST(records_arrive_in_the_round_in_which_they_are_written)
{
	_cleanup_(stream_pair_done) struct stream_pair pair = stream_pair_new(MIB);
	uint32_t id = stream_writer_add_string(pair.writer, "worker");

	CHECK_INT(receive(&pair).end, -EAGAIN);
	CHECK_STR(stream_reader_meta(pair.reader)->host, build_meta.host);
	add(&pair, REC(TASK, task, 1000, 5, .pid = 5, .comm = id));
	CHECK_INT(receive(&pair).records, 0);
	poll_at(&pair, 1000);

	struct received got = receive(&pair);

	CHECK_INT(got.records, 1);
	CHECK_STR(got.last_comm, "worker");
	CHECK_INT(got.end, -EAGAIN);
}

TEST(a_closed_stream_is_a_complete_capture)
{
	_cleanup_(stream_pair_done) struct stream_pair pair = stream_pair_new(MIB);
	unsigned char bytes[65536] __attribute__((aligned(8)));
	_cleanup_(capture_freep) struct capture *cap = NULL;
	struct capture_cursor cur;
	const struct record *record;
	struct err err = { "" };
	int count = 0;

	add(&pair, REC(TASK, task, 1000, 5, .comm = stream_writer_add_string(pair.writer, "a")));
	begin_epoch(&pair, 1001);
	add(&pair, REC(TASK, task, 1002, 5, .comm = stream_writer_add_string(pair.writer, "b")));
	CHECK_INT(stream_writer_add_note(pair.writer, "note", &err), 0);
	CHECK_INT(stream_writer_close(pair.writer, NSEC_PER_SEC, &err), 0);

	ssize_t size = read(pair.fds[0], bytes, sizeof(bytes));

	CHECK_INT(size, stream_writer_size(pair.writer));
	CHECK_INT(capture_open_memory("x", bytes, size, &cap, &err), 0);
	CHECK(capture_is_complete(cap, NULL));
	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	while (capture_next(&cur, &record, &err) > 0)
		count++;
	CHECK_INT(count, 3);
	CHECK_STR(capture_get_string(cap, 1), "a");
	CHECK_STR(capture_get_string(cap, 2), "b");
}

TEST(a_stalled_reader_costs_whole_blocks_which_are_counted_once)
{
	_cleanup_(stream_pair_done) struct stream_pair pair = stream_pair_new(2 * MIB);
	size_t total = 4 * MIB / sizeof(struct record_run);
	nsec_t next = write_runs(&pair, 1000, total);

	CHECK(stream_writer_dropped(pair.writer) > 0);
	CHECK(!stream_writer_needs_epoch(pair.writer));

	struct received before = receive(&pair), got;

	CHECK_INT(before.losses, 0);
	do {
		poll_at(&pair, next++);
		got = receive(&pair);
		before.runs += got.runs;
		before.lost += got.lost;
		before.losses += got.losses;
		if (got.losses) {
			CHECK_INT(got.last_loss_cpu, 3);
			CHECK_INT(got.loss_end - got.loss_start + 1, got.lost);
		}
	} while (got.records);
	CHECK_INT(before.runs + before.lost, total);
	CHECK_INT(before.lost, stream_writer_dropped(pair.writer));
	CHECK_INT(before.losses, build_meta.cpu_count);
	CHECK_INT(stream_writer_added(pair.writer), build_meta.cpu_count);
	CHECK(stream_writer_needs_epoch(pair.writer));
	begin_epoch(&pair, next);
	CHECK(!stream_writer_needs_epoch(pair.writer));
	CHECK_INT(receive(&pair).epochs, 1);
}

TEST(the_queue_is_bounded_while_the_reader_stalls)
{
	_cleanup_(stream_pair_done) struct stream_pair pair = stream_pair_new(2 * MIB);
	struct err err = { "" };

	write_runs(&pair, 1000, 16 * MIB / sizeof(struct record_run));
	for (size_t i = 0; i < 10000; i++) {
		struct recorder_stats stats = { .time = i, .records = i };

		CHECK_INT(stream_writer_add_note(pair.writer, "warning", &err), 0);
		CHECK_INT(stream_writer_add_stats(pair.writer, &stats, &err), 0);
		poll_at(&pair, 1000000 + i);
	}
	CHECK(stream_writer_size(pair.writer) < 4 * MIB);
}

static void count_note(void *arg, const char *text)
{
	int *counts = arg;

	counts[strcmp(text, "9968 more warnings of the recorder") == 0]++;
}

TEST(after_a_stall_the_first_notes_and_the_latest_statistics_arrive)
{
	_cleanup_(stream_pair_done) struct stream_pair pair = stream_pair_new(2 * MIB);
	struct err err = { "" };
	int notes[2] = { 0 };

	stream_reader_on_note(pair.reader, count_note, notes);
	write_runs(&pair, 1000, 4 * MIB / sizeof(struct record_run));
	for (size_t i = 0; i < 10000; i++)
		CHECK_INT(stream_writer_add_note(pair.writer, "warning", &err), 0);
	for (size_t i = 0; i < 10; i++) {
		struct recorder_stats stats = { .time = i, .records = i };

		CHECK_INT(stream_writer_add_stats(pair.writer, &stats, &err), 0);
	}
	for (size_t i = 0; i < 100; i++) {
		receive(&pair);
		poll_at(&pair, 1000000 + i);
	}

	const struct recorder_stats *stats = stream_reader_stats(pair.reader);

	CHECK_INT(notes[0], 32);
	CHECK_INT(notes[1], 1);
	CHECK(stats);
	CHECK_INT(stats ? stats->time : 0, 9);
	CHECK_INT(stats ? stats->dropped_records : 0, stream_writer_dropped(pair.writer));
}

/* Strings of dropped blocks arrive, but not those of epochs to which no record can refer. */
TEST(strings_of_a_stall_arrive_if_a_record_can_refer_to_them)
{
	_cleanup_(stream_pair_done) struct stream_pair pair = stream_pair_new(2 * MIB);
	nsec_t next = write_runs(&pair, 1000, 4 * MIB / sizeof(struct record_run));
	uint32_t ids[4];

	for (size_t epoch = 0; epoch < 4; epoch++) {
		char name[] = { 'a' + epoch, 0 };

		ids[epoch] = stream_writer_add_string(pair.writer, name);
		add(&pair, REC(TASK, task, next, 5, .comm = ids[epoch]));
		if (epoch < 3)
			begin_epoch(&pair, next++);
	}
	for (size_t i = 0; i < 100; i++) {
		poll_at(&pair, next + i);
		receive(&pair);
	}
	CHECK_STR(stream_reader_get_string(pair.reader, ids[0]), "");
	CHECK_STR(stream_reader_get_string(pair.reader, ids[1]), "");
	CHECK_STR(stream_reader_get_string(pair.reader, ids[2]), "c");
	CHECK_STR(stream_reader_get_string(pair.reader, ids[3]), "d");
}

/* A LOSS of the kernel that is dropped itself must not be forgotten. */
TEST(a_dropped_loss_is_part_of_the_reported_one)
{
	_cleanup_(stream_pair_done) struct stream_pair pair = stream_pair_new(2 * MIB);
	nsec_t next = write_runs(&pair, 1000, 4 * MIB / sizeof(struct record_run));
	uint64_t lost = 0;

	add(&pair, REC(LOSS, loss, next, 0, .start = 500, .end = next, .count = 77));
	poll_at(&pair, next + NSEC_PER_SEC);
	for (size_t i = 0; i < 100; i++) {
		struct received got = receive(&pair);

		if (got.losses)
			CHECK_INT(got.loss_start, 500);
		lost += got.lost;
		poll_at(&pair, next + NSEC_PER_SEC + i);
	}
	CHECK_INT(lost, stream_writer_dropped(pair.writer) + 77);
}

TEST(ids_of_strings_go_on_over_epochs)
{
	_cleanup_(stream_pair_done) struct stream_pair pair = stream_pair_new(MIB);
	uint32_t a = stream_writer_add_string(pair.writer, "a");

	CHECK_INT(a, 1);
	CHECK_INT(stream_writer_find_string(pair.writer, "a"), 1);
	begin_epoch(&pair, 1000);
	CHECK_INT(stream_writer_find_string(pair.writer, "a"), 0);
	CHECK_INT(stream_writer_add_string(pair.writer, "a"), 2);
	CHECK_INT(stream_writer_add_string(pair.writer, ""), 0);
	receive(&pair);
	CHECK_STR(stream_reader_get_string(pair.reader, 1), "a");
	begin_epoch(&pair, 2000);
	begin_epoch(&pair, 3000);
	receive(&pair);
	CHECK_STR(stream_reader_get_string(pair.reader, 1), "");
}

TEST(a_string_longer_than_a_block_is_cut)
{
	_cleanup_(stream_pair_done) struct stream_pair pair = stream_pair_new(8 * MIB);
	_cleanup_(freep) char *text = must_alloc(3 * MIB + 1);
	uint32_t id;

	memset(text, 'x', 3 * MIB);
	id = stream_writer_add_string(pair.writer, text);
	add(&pair, REC(TASK, task, 1000, 5, .comm = id));
	for (size_t i = 0; i < 100; i++) {
		poll_at(&pair, 1000 + i * NSEC_PER_SEC);
		receive(&pair);
	}
	CHECK_INT(strlen(stream_reader_get_string(pair.reader, id)), 2 * BLOCK_TARGET);
}

TEST(a_reader_that_has_ended_is_reported_as_a_closed_pipe)
{
	_cleanup_(stream_pair_done) struct stream_pair pair = stream_pair_new(MIB);
	struct err err = { "" };

	signal(SIGPIPE, SIG_IGN);
	close(pair.fds[0]);
	pair.fds[0] = -1;
	stream_writer_write(pair.writer, REC(RUN, run, 1000, 5, .start = 1), &err);
	CHECK_INT(stream_writer_poll(pair.writer, 1000, &err), -EPIPE);
	CHECK_STR(err.text, "the reader of the stream has ended");
	CHECK_INT(stream_writer_flush(pair.writer, &err), -EPIPE);
	CHECK_INT(stream_writer_close(pair.writer, 0, &err), -EPIPE);
}

TEST(a_closed_socket_raises_no_signal)
{
	struct err err = { "" };
	int fds[2];

	signal(SIGPIPE, SIG_DFL);
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	close(fds[0]);

	_cleanup_(stream_writer_freep) struct stream_writer *w =
		stream_writer_new(fds[1], &build_meta, MIB);

	CHECK_INT(stream_writer_flush(w, &err), -EPIPE);
	close(fds[1]);
}

TEST(closing_waits_for_a_slow_reader_but_not_forever)
{
	_cleanup_(stream_pair_done) struct stream_pair pair = stream_pair_new(2 * MIB);
	struct err err = { "" };

	write_runs(&pair, 1000, 3 * MIB / 2 / sizeof(struct record_run));
	CHECK_INT(stream_writer_close(pair.writer, 20 * NSEC_PER_MSEC, &err), -ETIMEDOUT);
	CHECK_STR(err.text, "the reader of the stream does not read");
}

TEST(an_output_is_opened_again_without_changing_the_shared_one)
{
	struct err err = { "" };
	int fds[2];

	CHECK_INT(pipe(fds), 0);

	int fd = stream_output_open(fds[1], &err);

	CHECK(fd >= 0);
	CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	CHECK(!(fcntl(fds[1], F_GETFL) & O_NONBLOCK));
	close(fd);
	close(fds[0]);
	close(fds[1]);
	CHECK_INT(stream_output_open(-1, &err), -EBADF);
}
