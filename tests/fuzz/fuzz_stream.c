/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: the bytes of a stream.  They are fed in pieces of different sizes, which must not change
 * the result, from an end that is somewhere in the stream.  What is a complete capture as a file
 * has the same records as a stream.  The blocks also go through a ring, which saves them.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "event/block_ring.h"
#include "event/capture.h"
#include "event/stream_read.h"
#include "fuzz/capture_mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static volatile uint64_t sink; /* prevents the compiler from removing the reads */

struct stream_result {
	int end; /* result of the last call */
	uint64_t records, hash;
	bool complete;
};

static void add_record(struct stream_result *result, const struct stream_reader *r,
		       const struct record *record)
{
	assert((uintptr_t)record % 8 == 0);
	assert(record_fits(record, record->words * 8u));
	assert(record->kind > 0 && record->kind < RECORD_KIND_COUNT);
	result->records++;
	result->hash = result->hash * 31 + XXH3_64bits(record, record->words * 8u);
	if (record->kind == RECORD_TASK)
		sink += strlen(
			stream_reader_get_string(r, ((const struct record_task *)record)->comm));
}

static void read_note(void *arg, const char *text)
{
	(void)arg;
	sink += strlen(text);
}

/* Feed the bytes in pieces; `piece` is the size of the first, and changes from piece to piece. */
static struct stream_result read_stream(const uint8_t *data, size_t size, size_t piece,
					struct block_ring *ring)
{
	_cleanup_(stream_reader_freep) struct stream_reader *r = stream_reader_new("fuzz");
	struct stream_result result = { 0 };
	const struct record *record;
	struct err err = { "" };

	stream_reader_on_note(r, read_note, NULL);
	if (ring)
		stream_reader_on_block(r, block_ring_add, ring);
	for (size_t at = 0;; piece = piece * 5 % 10007 + 1) {
		while ((result.end = stream_reader_next(r, &record, &err)) > 0)
			add_record(&result, r, record);
		if (result.end != -EAGAIN)
			break;

		size_t room;
		void *to = stream_reader_room(r, &room);
		size_t n = piece < room ? piece : room;

		assert(room > 0);
		n = n < size - at ? n : size - at;
		memcpy(to, data + at, n);
		stream_reader_feed(r, n);
		at += n;
		if (at == size)
			stream_reader_end(r);
	}
	assert((result.end < 0) == (strncmp(err.text, "'fuzz' is ", 10) == 0));
	assert(stream_reader_next(r, &record, &err) == result.end);
	assert(stream_reader_memory(r) < (4u << 20) + 40 * size);
	result.complete = stream_reader_is_complete(r);
	return result;
}

/* A complete file has the same records. */
static void compare_with_file(const uint8_t *input, size_t size, const struct stream_result *stream)
{
	struct bytes given = { (uint8_t *)input, size };
	_cleanup_(bytes_done) struct bytes bytes = bytes_copy(&given, size);
	_cleanup_(capture_freep) struct capture *cap = NULL;
	struct stream_result file = { 0 };
	struct capture_cursor cur;
	const struct record *record;
	struct err err = { "" };

	if (capture_open_memory("fuzz", bytes.data, size, &cap, &err) < 0)
		return;
	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	while ((file.end = capture_next(&cur, &record, &err)) > 0) {
		file.records++;
		file.hash = file.hash * 31 + XXH3_64bits(record, record->words * 8u);
	}
	if (stream->end == 0 && stream->complete) {
		assert(file.records == stream->records && file.hash == stream->hash);
		assert(file.end == 0);
	}
}

static void save(struct block_ring *ring, struct block_ring_state state)
{
	static const struct capture_meta meta = { .host = "fuzz" };
	_cleanup_(ring_snapshot_freep) struct ring_snapshot *s = block_ring_snapshot(ring, &meta);
	_cleanup_(closep) int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct err err;

	assert(state.bytes <= 2000);
	assert(null < 0 || ring_snapshot_write(s, null, "null", &err) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	_cleanup_(block_ring_freep) struct block_ring *ring = block_ring_new(100, 2000);
	struct stream_result whole = read_stream(input, size, SIZE_MAX / 8, ring);
	struct stream_result pieces = read_stream(input, size, 1 + size % 100, NULL);

	assert(whole.end == pieces.end && whole.records == pieces.records);
	assert(whole.hash == pieces.hash && whole.complete == pieces.complete);
	compare_with_file(input, size, &whole);
	save(ring, block_ring_state(ring));
	if (size)
		read_stream(input, XXH3_64bits(input, size) % size, 100, NULL);
	return 0;
}
