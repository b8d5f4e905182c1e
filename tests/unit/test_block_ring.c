/* SPDX-License-Identifier: Apache-2.0 */
#include "event/block_ring.h"

#include <stdio.h>

#include "event/capture_format.h"
#include "stream_build.h"
#include "test.h"

#define MIB ((size_t)1 << 20)

/* A stream that flows into a ring. */
struct flow_to_ring {
	struct stream_pair pair;
	struct block_ring *ring;
};

static struct flow_to_ring flow_new(nsec_t time, size_t limit)
{
	struct flow_to_ring flow = { stream_pair_new(8 * MIB), block_ring_new(time, limit) };

	stream_reader_on_block(flow.pair.reader, block_ring_add, flow.ring);
	return flow;
}

static void flow_done(struct flow_to_ring *flow)
{
	block_ring_free(flow->ring);
	stream_pair_done(&flow->pair);
}

static void pass_on(struct flow_to_ring *flow)
{
	const struct record *record;
	struct err err = { "" };

	CHECK_INT(stream_writer_flush(flow->pair.writer, &err), 0);
	while (stream_pair_next(&flow->pair, &record, &err) > 0)
		;
}

/* An epoch of 1000 ns with a task, named after the epoch, and `runs` runs. */
static void add_epoch(struct flow_to_ring *flow, uint32_t epoch, size_t runs)
{
	struct stream_writer *w = flow->pair.writer;
	nsec_t start = 1000 * (epoch + 1);
	struct err err = { "" };
	char name[20];

	if (epoch)
		stream_writer_begin_epoch(w, start, &err);
	snprintf(name, sizeof(name), "epoch %u", epoch);
	stream_writer_write(w, REC(TASK, task, start, 5, .comm = stream_writer_add_string(w, name)),
			    &err);
	for (size_t i = 0; i < runs; i++) {
		nsec_t time = start + 999 * (i + 1) / runs;

		stream_writer_write(w, REC(RUN, run, time, 5, .start = time - 1), &err);
		if (i % 1000 == 0)
			pass_on(flow);
	}
	pass_on(flow);
}

/* Write a snapshot and open it. */
static struct capture *save(const struct flow_to_ring *flow)
{
	_cleanup_(ring_snapshot_freep) struct ring_snapshot *s =
		block_ring_snapshot(flow->ring, stream_reader_meta(flow->pair.reader));
	const char *path = scratch("snapshot");
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct capture *cap = NULL;
	struct err err = { "" };

	CHECK_INT(ring_snapshot_write(s, fd, path, &err), 0);
	close(fd);
	CHECK_INT(capture_open(path, &cap, &err), 0);
	CHECK_STR(err.text, "");
	return cap;
}

/* The names of the tasks in a capture, separated by commas. */
static const char *tasks(const struct capture *cap, uint64_t *ret_count)
{
	static char names[1000];
	struct capture_cursor cur;
	const struct record *record;
	struct err err = { "" };

	*names = 0;
	*ret_count = 0;
	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	while (capture_next(&cur, &record, &err) > 0) {
		++*ret_count;
		if (record->kind != RECORD_TASK)
			continue;
		strcat(names, *names ? ", " : "");
		strcat(names, capture_get_string(cap, ((const struct record_task *)record)->comm));
	}
	CHECK_STR(err.text, "");
	return names;
}

TEST(a_ring_that_is_not_full_is_the_whole_stream)
{
	_cleanup_(flow_done) struct flow_to_ring flow = flow_new(10000, 8 * MIB);
	struct block_ring_state state = block_ring_state(flow.ring);
	uint64_t count;

	CHECK_INT(state.to, 0);
	add_epoch(&flow, 0, 10);
	add_epoch(&flow, 1, 10);
	state = block_ring_state(flow.ring);
	CHECK_INT(state.from, 1000);
	CHECK_INT(state.to, 2999);
	CHECK(!state.limited);

	_cleanup_(capture_freep) struct capture *cap = save(&flow);

	CHECK(capture_is_complete(cap, NULL));
	CHECK_STR(tasks(cap, &count), "epoch 0, epoch 1");
	CHECK_INT(count, 23);
	CHECK_INT(capture_meta(cap)->start, build_meta.start);
	CHECK_STR(capture_meta(cap)->host, build_meta.host);
}

TEST(a_ring_keeps_its_time_and_one_epoch_more)
{
	_cleanup_(flow_done) struct flow_to_ring flow = flow_new(2500, 8 * MIB);
	uint64_t count;

	for (uint32_t epoch = 0; epoch < 20; epoch++)
		add_epoch(&flow, epoch, 10);

	struct block_ring_state state = block_ring_state(flow.ring);

	CHECK_INT(state.to, 20999);
	CHECK_INT(state.from, 18000);
	CHECK(!state.limited);

	_cleanup_(capture_freep) struct capture *cap = save(&flow);

	CHECK(capture_is_complete(cap, NULL));
	CHECK_STR(tasks(cap, &count), "epoch 16, epoch 17, epoch 18, epoch 19");
	CHECK_INT(count, 4 * 12);
	CHECK_INT(capture_meta(cap)->start, 17000);
}

TEST(the_limit_of_bytes_drops_epochs)
{
	_cleanup_(flow_done) struct flow_to_ring flow = flow_new(100000, MIB);
	uint64_t count;

	for (uint32_t epoch = 0; epoch < 10; epoch++)
		add_epoch(&flow, epoch, MIB / 4 / sizeof(struct record_run));

	struct block_ring_state state = block_ring_state(flow.ring);

	CHECK(state.bytes <= MIB);
	CHECK(state.limited);
	CHECK_INT(state.from, 9000);

	_cleanup_(capture_freep) struct capture *cap = save(&flow);

	CHECK(capture_is_complete(cap, NULL));
	CHECK_STR(tasks(cap, &count), "epoch 7, epoch 8, epoch 9");
}

TEST(an_epoch_larger_than_the_limit_loses_its_oldest_blocks)
{
	_cleanup_(flow_done) struct flow_to_ring flow = flow_new(100000, MIB);
	uint64_t count;

	add_epoch(&flow, 0, 3 * MIB / sizeof(struct record_run));

	struct block_ring_state state = block_ring_state(flow.ring);

	CHECK(state.bytes <= MIB && state.bytes > MIB / 4);
	CHECK(state.limited);
	CHECK_INT(state.from, 0);

	_cleanup_(capture_freep) struct capture *cap = save(&flow);

	CHECK(capture_is_complete(cap, NULL));
	tasks(cap, &count);
	CHECK(count > MIB / 4 / sizeof(struct record_run));
}

TEST(a_snapshot_outlives_the_ring)
{
	struct flow_to_ring flow = flow_new(1000, MIB);

	add_epoch(&flow, 0, 10);

	_cleanup_(ring_snapshot_freep) struct ring_snapshot *s =
		block_ring_snapshot(flow.ring, stream_reader_meta(flow.pair.reader));
	struct err err = { "" };

	block_ring_clear(flow.ring);
	CHECK_INT(block_ring_state(flow.ring).bytes, 0);
	flow_done(&flow);

	int fd = open("/dev/null", O_WRONLY);

	CHECK_INT(ring_snapshot_write(s, fd, "null", &err), 0);
	close(fd);
	fd = open("/dev/full", O_WRONLY);
	CHECK_INT(ring_snapshot_write(s, fd, "full", &err), -ENOSPC);
	CHECK_STR(err.text, "cannot write 'full': No space left on device");
	close(fd);
}

TEST(every_snapshot_has_the_warnings_of_the_recorder)
{
	_cleanup_(flow_done) struct flow_to_ring flow = flow_new(1000, MIB);
	struct err err = { "" };

	stream_writer_add_note(flow.pair.writer, "an early warning", &err);
	for (uint32_t epoch = 0; epoch < 20; epoch++)
		add_epoch(&flow, epoch, 10);

	_cleanup_(ring_snapshot_freep) struct ring_snapshot *s =
		block_ring_snapshot(flow.ring, stream_reader_meta(flow.pair.reader));
	const char *path = scratch("notes");
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	char bytes[4096] = "";

	CHECK_INT(ring_snapshot_write(s, fd, path, &err), 0);
	CHECK(pread(fd, bytes, sizeof(bytes), 0) > 0);
	CHECK(memmem(bytes, sizeof(bytes), "an early warning", 16));
	close(fd);
}
