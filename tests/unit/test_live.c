/* SPDX-License-Identifier: Apache-2.0 */
#include "live/live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/map.h"
#include "load/load.h"
#include "test.h"

/* What a consumer has got. */
struct got {
	struct map ended; /* first half of the trace id -> number of requests */
	size_t requests, batches, ticks, done;
	nsec_t latency, now, least_window;
	uint64_t most_memory;
	char host[64];
};

static uint64_t id_of(const struct span *span)
{
	uint64_t id;

	memcpy(&id, span->id, sizeof(id));
	return id;
}

static void span_ended(void *arg, const struct live_view *view, span_id id)
{
	struct got *got = arg;
	const struct span *span = span_set_at(view->spans, id);

	CHECK(!span->parent.i);
	CHECK_INT(got->done, 0);
	got->requests++;
	got->latency += span->end - span_arrival(span);
	++*map_insert(&got->ended, id_of(span));
}

static void batch_ended(void *arg, const struct live_view *view)
{
	struct got *got = arg;

	CHECK(view->now >= got->now);
	got->batches++;
}

static void tick(void *arg, const struct live_state *state)
{
	struct got *got = arg;

	CHECK(state->now >= got->now);
	got->now = state->now;
	got->ticks++;
	if (state->memory > got->most_memory)
		got->most_memory = state->memory;
	if (!got->least_window || state->window < got->least_window)
		got->least_window = state->window;
	snprintf(got->host, sizeof(got->host), "%s", state->host);
}

static void done(void *arg)
{
	((struct got *)arg)->done++;
}

static struct consumer consumer_of(struct got *got)
{
	return (struct consumer){ got, span_ended, batch_ended, tick, done };
}

static char *demo_path(void)
{
	return must_printf("%s/../../demo/demo.sonde", getenv("SONDE_TEST_DATA"));
}

static int replay(const struct live_options *options, struct got *got, struct err *err)
{
	_cleanup_(freep) char *path = demo_path();
	char *paths[] = { path, NULL };
	_cleanup_(live_freep) struct live *live = NULL;
	struct consumer consumer = consumer_of(got);
	int r = live_open_files(paths, options, &live, err);

	if (r < 0)
		return r;
	live_add_consumer(live, &consumer);
	while ((r = live_poll(live, -1, -1, err)) > 0)
		CHECK(r & LIVE_RUNNING);
	CHECK_INT(live_poll(live, -1, -1, err), 0);
	return r;
}

TEST(a_replay_passes_the_requests_of_the_file)
{
	_cleanup_(freep) char *path = demo_path();
	char *paths[] = { path, NULL };
	_cleanup_(loaded_done) struct loaded loaded = { 0 };
	struct got got = { 0 };
	struct err err = { "" };
	size_t whole = 0;

	CHECK_INT(replay(&(struct live_options){ 0 }, &got, &err), 0);
	CHECK_INT(loaded_open(&loaded, paths, NULL, &err), 0);
	loaded_rebuild_requests(&loaded, false);
	for (uint32_t i = 1; i < span_set_count(&loaded.spans); i++) {
		const struct span *span = span_set_at(&loaded.spans, (span_id){ i });

		if (span->parent.i || span->flags & SPAN_OPEN)
			continue;
		whole++;
		got.latency -= span->end - span_arrival(span);
	}
	CHECK(whole > 100);
	CHECK_INT(got.requests, whole);
	CHECK_INT(got.ended.count, whole);
	CHECK_INT(got.latency, 0);
	CHECK_INT(got.done, 1);
	CHECK_STR(got.host, "demo");
	map_done(&got.ended);
}

TEST(ticks_follow_the_records)
{
	struct got got = { 0 };
	struct err err = { "" };
	struct live_options options = { .interval = NSEC_PER_SEC / 100 };

	CHECK_INT(replay(&options, &got, &err), 0);
	CHECK(got.ticks >= 105 && got.ticks <= 107); /* 1.06 s, and the end */
	CHECK_INT(got.requests, 151);
	map_done(&got.ended);
}

TEST(memory_bounds_the_window)
{
	struct got got = { 0 };
	struct err err = { "" };
	struct live_options options = { .interval = NSEC_PER_SEC / 20, .memory = 1 };

	CHECK_INT(replay(&options, &got, &err), 0);
	CHECK(got.least_window < NSEC_PER_SEC / 2);
	CHECK(got.requests > 0);
	map_done(&got.ended);
}

TEST(without_a_model_there_are_ticks_only)
{
	struct got got = { 0 };
	struct err err = { "" };

	CHECK_INT(replay(&(struct live_options){ .no_model = true }, &got, &err), 0);
	CHECK_INT(got.requests, 0);
	CHECK_INT(got.batches, 0);
	CHECK_INT(got.ticks, 2);
	CHECK_INT(got.done, 1);
}

/* A stream that arrives in pieces of this size, up to `size` bytes. */
static int read_pieces(const struct view *file, size_t size, size_t piece, struct got *got,
		       struct err *err)
{
	_cleanup_(live_freep) struct live *live = NULL;
	struct consumer consumer = consumer_of(got);
	size_t at = 0;
	int fds[2], r = 1;

	CHECK_INT(pipe2(fds, O_NONBLOCK), 0);
	CHECK_INT(live_open_fd(fds[0], &(struct live_options){ 0 }, &live, err), 0);
	live_add_consumer(live, &consumer);
	while (r > 0) {
		size_t rest = size - at;

		if (rest) {
			ssize_t n = write(fds[1], file->s + at, rest < piece ? rest : piece);

			at += n > 0 ? n : 0;
		} else if (fds[1] >= 0) {
			close(fds[1]);
			fds[1] = -1;
		}
		r = live_poll(live, 0, -1, err);
	}
	return r;
}

TEST(a_stream_gives_the_requests_of_the_file)
{
	_cleanup_(freep) char *path = demo_path();
	struct got from_file = { 0 };
	struct err err = { "" };
	struct view file;

	CHECK_INT(replay(&(struct live_options){ 0 }, &from_file, &err), 0);
	CHECK_INT(file_map(path, &file, &err), 0);
	for (size_t piece = 1000; piece < 100000; piece *= 7) {
		struct got got = { 0 };

		CHECK_INT(read_pieces(&file, file.len, piece, &got, &err), 0);
		CHECK_INT(got.requests, from_file.requests);
		CHECK_INT(got.latency, from_file.latency);
		CHECK_INT(got.done, 1);
		CHECK_STR(got.host, "demo");
		map_done(&got.ended);
	}
	file_unmap(&file);
	map_done(&from_file.ended);
}

TEST(a_damaged_stream_ends_with_a_message_and_the_requests_before)
{
	_cleanup_(freep) char *path = demo_path();
	struct got got = { 0 };
	struct err err = { "" };
	struct view file;
	char *copy;

	CHECK_INT(file_map(path, &file, &err), 0);
	copy = must_alloc(file.len);
	memcpy(copy, file.s, file.len);
	copy[file.len / 2] ^= 0x55;
	CHECK(read_pieces(&(struct view){ copy, file.len }, file.len, 4096, &got, &err) < 0);
	CHECK(err.text[0]);
	CHECK(got.requests > 0);
	CHECK_INT(got.done, 1);
	map_done(&got.ended);
	free(copy);
	file_unmap(&file);
}

TEST(a_key_ends_the_wait)
{
	_cleanup_(live_freep) struct live *live = NULL;
	struct err err = { "" };
	int stream[2], keys[2];

	CHECK_INT(pipe2(stream, O_NONBLOCK), 0);
	CHECK_INT(pipe2(keys, O_NONBLOCK), 0);
	CHECK_INT(live_open_fd(stream[0], &(struct live_options){ 0 }, &live, &err), 0);
	CHECK_INT(live_poll(live, 10, keys[0], &err), LIVE_RUNNING);
	CHECK_INT(write(keys[1], "q", 1), 1);
	CHECK_INT(live_poll(live, -1, keys[0], &err), LIVE_RUNNING | LIVE_INPUT);
	close(stream[1]);
	close(keys[0]);
	close(keys[1]);
}
