/* SPDX-License-Identifier: Apache-2.0 */
#include "event/stream_read.h"

#include "base/vec.h"
#include "event/capture_format.h"
#include "stream_build.h"
#include "test.h"

struct bytes {
	unsigned char *data;
	size_t size;
};

static void bytes_done(struct bytes *b)
{
	free(b->data);
}

/* All bytes of a stream with every type of block, two epochs and `count` runs in each. */
static struct bytes make_stream(size_t count)
{
	_cleanup_(stream_pair_done) struct stream_pair pair = stream_pair_new(256u << 20);
	struct bytes all = { must_alloc(64u << 20), 0 };
	struct recorder_stats stats = { .time = 5 };
	struct err err = { "" };
	ssize_t n;

	for (uint32_t epoch = 0; epoch < 2; epoch++) {
		uint32_t id = stream_writer_add_string(pair.writer, epoch ? "second" : "first");

		if (epoch)
			stream_writer_begin_epoch(pair.writer, 1000, &err);
		stream_writer_write(pair.writer, REC(TASK, task, 1000, 5, .comm = id), &err);
		for (size_t i = 0; i < count; i++)
			stream_writer_write(pair.writer, REC(RUN, run, 1000 + i, 5, .start = 1),
					    &err);
		stream_writer_add_note(pair.writer, "note", &err);
		stream_writer_add_stats(pair.writer, &stats, &err);
		do {
			stream_writer_flush(pair.writer, &err);
			n = read(pair.fds[0], all.data + all.size, (64u << 20) - all.size);
			all.size += n > 0 ? n : 0;
		} while (n > 0);
	}
	CHECK_INT(stream_writer_close(pair.writer, NSEC_PER_SEC, &err), 0);
	n = read(pair.fds[0], all.data + all.size, (64u << 20) - all.size);
	all.size += n > 0 ? n : 0;
	return all;
}

/* Feed bytes in pieces of at most `piece`; returns the number of records or an error. */
static int read_pieces(struct stream_reader *r, const unsigned char *data, size_t size,
		       size_t piece, struct err *err)
{
	const struct record *record;
	int count = 0, code;

	for (size_t at = 0;;) {
		while ((code = stream_reader_next(r, &record, err)) > 0)
			count++;
		if (code != -EAGAIN)
			return code < 0 ? code : count;

		size_t room;
		void *to = stream_reader_room(r, &room);
		size_t n = room < piece ? room : piece;

		n = n < size - at ? n : size - at;
		CHECK(room > 0);
		memcpy(to, data + at, n);
		stream_reader_feed(r, n);
		at += n;
		if (n == 0)
			stream_reader_end(r);
	}
}

static int read_all(const unsigned char *data, size_t size, size_t piece, struct err *err)
{
	_cleanup_(stream_reader_freep) struct stream_reader *r = stream_reader_new("x");

	return read_pieces(r, data, size, piece, err);
}

TEST(pieces_of_any_size_give_the_same_records)
{
	_cleanup_(bytes_done) struct bytes all = make_stream(1000);
	static const size_t pieces[] = { 1, 7, 63, 64, 65, 4096, 100000, SIZE_MAX };
	struct err err = { "" };

	for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
		CHECK_INT(read_all(all.data, all.size, pieces[i], &err), 2 * 1001 + 1);
}

TEST(a_block_is_parsed_where_it_was_read)
{
	_cleanup_(bytes_done) struct bytes all = make_stream(100000);
	struct err err = { "" };

	CHECK(all.size > 5u << 20);
	CHECK_INT(read_all(all.data, all.size, 100000, &err), 2 * 100001 + 1);
	CHECK_INT(read_all(all.data, all.size, SIZE_MAX, &err), 2 * 100001 + 1);
}

static void copy_note(void *arg, const char *text)
{
	strcpy(arg, text);
}

static void count_block(void *arg, const struct block_header *h, const void *payload)
{
	int *counts = arg;

	CHECK(XXH3_64bits(payload, capture_padded(h->size)) == h->payload_checksum);
	counts[h->type]++;
}

TEST(notes_statistics_and_blocks_are_passed_on)
{
	_cleanup_(stream_reader_freep) struct stream_reader *r = stream_reader_new("x");
	_cleanup_(bytes_done) struct bytes all = make_stream(3);
	struct err err = { "" };
	char note[4096] = "";
	int counts[6] = { 0 };

	stream_reader_on_note(r, copy_note, note);
	stream_reader_on_block(r, count_block, counts);
	CHECK(!stream_reader_meta(r));
	CHECK(!stream_reader_stats(r));
	CHECK_INT(read_pieces(r, all.data, all.size, SIZE_MAX, &err), 9);
	CHECK_STR(note, "note");
	CHECK_INT(stream_reader_stats(r)->time, 5);
	CHECK(stream_reader_is_complete(r));
	CHECK_INT(counts[BLOCK_RECORDS], 3);
	CHECK_INT(counts[BLOCK_STRINGS], 2);
	CHECK_INT(counts[BLOCK_NOTE], 2);
	CHECK_INT(counts[BLOCK_STATS], 2);
	CHECK_INT(counts[BLOCK_END], 1);
	CHECK_STR(stream_reader_meta(r)->host, build_meta.host);
}

/* A cut between blocks ends the stream; a cut inside of a block is reported. */
TEST(a_stream_that_is_cut_anywhere_gives_what_was_complete)
{
	_cleanup_(bytes_done) struct bytes all = make_stream(3);
	int last = 0;

	for (size_t size = 0; size < all.size; size++) {
		_cleanup_(stream_reader_freep) struct stream_reader *r = stream_reader_new("x");
		struct err err = { "" };
		int n = read_pieces(r, all.data, size, 50, &err);

		CHECK(!stream_reader_is_complete(r));
		if (n < 0) {
			CHECK_INT(n, -EBADMSG);
			CHECK(*err.text);
		} else {
			CHECK(n >= last);
			last = n;
		}
	}
	CHECK_INT(last, 9);
}

TEST(no_changed_byte_goes_undetected)
{
	_cleanup_(bytes_done) struct bytes all = make_stream(3);

	for (size_t at = 0; at < all.size; at++) {
		struct err err = { "" };

		all.data[at] ^= 0x41;
		CHECK_INT(read_all(all.data, all.size, 4096, &err), -EBADMSG);
		all.data[at] ^= 0x41;
	}
}

/* Change the header of the block at `at` and seal it again. */
static void reseal(unsigned char *at, uint64_t size)
{
	struct block_header h;

	memcpy(&h, at, sizeof(h));
	h.size = size;
	h.checksum = block_checksum(&h);
	memcpy(at, &h, sizeof(h));
}

TEST(a_block_that_claims_to_be_huge_needs_no_memory)
{
	_cleanup_(stream_reader_freep) struct stream_reader *r = stream_reader_new("x");
	_cleanup_(bytes_done) struct bytes all = make_stream(3);
	size_t start = ((struct file_header *)all.data)->size;
	struct err err = { "" };

	reseal(all.data + start, UINT64_MAX);
	CHECK_INT(read_pieces(r, all.data, all.size, 4096, &err), -EBADMSG);
	CHECK(strstr(err.text, "in a stream it can have 1048576"));
	CHECK(stream_reader_memory(r) < 1u << 20);
	CHECK_INT(stream_reader_next(r, &(const struct record *){ NULL }, &err), -EBADMSG);
}

TEST(other_bytes_are_not_a_capture)
{
	struct err err = { "" };

	CHECK_INT(read_all((const unsigned char *)"{\"resourceSpans\":[]}", 20, 3, &err), -EBADMSG);
	CHECK_STR(err.text, "'x' is not a sonde capture: bad magic at offset 0");
	CHECK_INT(read_all((const unsigned char *)"", 0, 3, &err), -EBADMSG);
	CHECK_STR(err.text, "'x' is empty, not a sonde capture");
}

TEST(strings_of_old_epochs_are_freed)
{
	_cleanup_(stream_pair_done) struct stream_pair pair = stream_pair_new(1u << 20);
	struct err err = { "" };
	const struct record *record;
	size_t after[100];

	for (uint32_t epoch = 0; epoch < 100; epoch++) {
		for (int i = 0; i < 200; i++) {
			char name[80];

			snprintf(name, sizeof(name), "a string of some length %u %d", epoch, i);
			stream_writer_add_string(pair.writer, name);
		}
		CHECK_INT(stream_writer_begin_epoch(pair.writer, epoch, &err), 0);
		CHECK_INT(stream_pair_next(&pair, &record, &err), 1);
		CHECK_INT(record->kind, RECORD_EPOCH);
		CHECK_INT(stream_pair_next(&pair, &record, &err), -EAGAIN);
		after[epoch] = stream_reader_memory(pair.reader);
	}
	CHECK(after[99] <= after[10] + 1000);
}
