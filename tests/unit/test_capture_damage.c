/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading damaged captures.  They are read from memory of exactly their size, so
 * that a sanitizer detects each read past the end.
 */
#include <errno.h>

#include "build.h"
#include "bytes.h"
#include "event/capture_format.h"
#include "test.h"

static struct err last_err;

/* A small capture: strings, records, strings, records, end. */
static struct bytes small(void)
{
	const char *path = scratch("small");
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(path);

	build_all_kinds(w);
	build_close(w);
	return bytes_read(path);
}

/*
 * Read a capture, whose records must be a prefix of those of `whole`.  Returns 0 or
 * the error, with its message in last_err.
 */
static int read_prefix(const struct bytes *bytes, const struct capture *whole, int *ret_count)
{
	_cleanup_(capture_freep) struct capture *cap = NULL;
	struct capture_cursor cur, expected;
	const struct record *got, *want;
	struct err err;

	last_err.text[0] = 0;
	*ret_count = 0;
	int r = capture_open_memory("x", bytes->data, bytes->size, &cap, &last_err);
	if (r < 0)
		return r;
	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	capture_cursor_init(&expected, whole, 0, UINT64_MAX);
	while ((r = capture_next(&cur, &got, &last_err)) > 0) {
		CHECK_INT(capture_next(&expected, &want, &err), 1);
		CHECK(memcmp(got, want, want->words * 8) == 0);
		++*ret_count;
	}
	CHECK_INT(capture_next(&cur, &got, &last_err), r);
	for (uint32_t id = 0; id < 8; id++)
		if (*capture_get_string(cap, id))
			CHECK_STR(capture_get_string(cap, id), capture_get_string(whole, id));
	CHECK(strcmp(capture_meta(cap)->command, capture_meta(whole)->command) == 0);
	CHECK(!capture_is_complete(cap, NULL) || r < 0 || bytes->size == bytes_block(bytes, 5));
	return r;
}

static struct capture *open_bytes(const struct bytes *bytes)
{
	struct capture *cap = NULL;

	CHECK_INT(capture_open_memory("whole", bytes->data, bytes->size, &cap, &last_err), 0);
	return cap;
}

static bool at_block(const struct bytes *bytes, size_t at)
{
	for (unsigned n = 0; n < 6; n++)
		if (bytes_block(bytes, n) == at)
			return true;
	return false;
}

TEST(a_file_truncated_anywhere_is_readable_up_to_there)
{
	_cleanup_(bytes_done) struct bytes bytes = small();
	_cleanup_(capture_freep) struct capture *whole = open_bytes(&bytes);
	int n, before = 0;

	CHECK_INT(bytes_block(&bytes, 5), bytes.size);
	for (size_t size = 0; size < bytes.size; size++) {
		_cleanup_(bytes_done) struct bytes cut = bytes_copy(&bytes, size);
		int r = read_prefix(&cut, whole, &n);

		CHECK_INT(r, at_block(&bytes, size) ? 0 : -EBADMSG);
		CHECK((r < 0) == (last_err.text[0] != 0));
		CHECK(n >= before);
		before = n;
	}
	CHECK_INT(read_prefix(&bytes, whole, &n), 0);
	CHECK_INT(n, RECORD_KIND_COUNT - 1);
}

TEST(every_flipped_bit_is_detected)
{
	_cleanup_(bytes_done) struct bytes bytes = small();
	_cleanup_(capture_freep) struct capture *whole = open_bytes(&bytes);
	_cleanup_(bytes_done) struct bytes flipped = bytes_copy(&bytes, bytes.size);
	int n;

	for (size_t bit = 0; bit < 8 * bytes.size; bit++) {
		flipped.data[bit / 8] ^= 1 << bit % 8;
		CHECK_INT(read_prefix(&flipped, whole, &n), -EBADMSG);
		CHECK(strstr(last_err.text, "'x' is "));
		flipped.data[bit / 8] ^= 1 << bit % 8;
	}
}

TEST(every_zeroed_byte_is_detected)
{
	_cleanup_(bytes_done) struct bytes bytes = small();
	_cleanup_(capture_freep) struct capture *whole = open_bytes(&bytes);
	size_t end = bytes_block(&bytes, 4); /* without its END block, the recorder was killed */
	int n;

	for (size_t at = 0; at < end; at += BLOCK_ALIGN) {
		_cleanup_(bytes_done) struct bytes wiped = bytes_copy(&bytes, bytes.size);

		memset(wiped.data + at, 0, BLOCK_ALIGN);
		CHECK_INT(read_prefix(&wiped, whole, &n), -EBADMSG);
	}
}

TEST(a_payload_without_a_header_is_a_clean_end)
{
	_cleanup_(bytes_done) struct bytes bytes = small();
	_cleanup_(capture_freep) struct capture *whole = open_bytes(&bytes);
	int n;

	for (unsigned block = 0; block < 5; block++) {
		size_t at = bytes_block(&bytes, block), next = bytes_block(&bytes, block + 1);

		for (size_t size = at; size <= next; size++) {
			_cleanup_(bytes_done) struct bytes killed = bytes_copy(&bytes, size);
			size_t header = size - at < 64 ? size - at : 64;

			memset(killed.data + at, 0, header);
			CHECK_INT(read_prefix(&killed, whole, &n), 0);
			CHECK_STR(last_err.text, "");
		}
	}
}

TEST(zeros_after_the_last_block_are_a_clean_end)
{
	_cleanup_(bytes_done) struct bytes bytes = small();
	_cleanup_(capture_freep) struct capture *whole = open_bytes(&bytes);
	_cleanup_(bytes_done) struct bytes cut = bytes_copy(&bytes, bytes_block(&bytes, 4));
	_cleanup_(bytes_done) struct bytes longer = bytes_copy(&cut, 100 * 1024 * 1024);
	int n;

	CHECK_INT(read_prefix(&longer, whole, &n), 0);
	CHECK_INT(n, RECORD_KIND_COUNT - 1);
}

/* A killed writer can leave any payload, for example a part of another capture. */
TEST(a_payload_that_looks_like_a_block_is_a_clean_end)
{
	_cleanup_(bytes_done) struct bytes bytes = small();
	_cleanup_(capture_freep) struct capture *whole = open_bytes(&bytes);
	size_t end = bytes_block(&bytes, 4), at = end + 3 * BLOCK_ALIGN;
	_cleanup_(bytes_done) struct bytes cut = bytes_copy(&bytes, end);
	_cleanup_(bytes_done) struct bytes longer = bytes_copy(&cut, end + 8 * BLOCK_ALIGN);
	struct block_header *h = (void *)(longer.data + at);
	int n;

	h->offset = at;
	CHECK_INT(read_prefix(&longer, whole, &n), 0); /* only its offset is right */
	memcpy(h, bytes.data + end, sizeof(*h));
	CHECK_INT(read_prefix(&longer, whole, &n), 0); /* everything but its offset is right */
	h->offset = at;
	h->checksum = block_checksum(h);
	CHECK_INT(read_prefix(&longer, whole, &n), -EBADMSG);
}

/* Change one field in a copy of the small capture, fix the checksums, and read it. */
static const char *verdict(size_t at, uint64_t value, size_t size)
{
	_cleanup_(bytes_done) struct bytes bytes = small();
	_cleanup_(capture_freep) struct capture *cap = NULL;
	struct capture_cursor cur;
	const struct record *record;

	memcpy(bytes.data + at, &value, size);
	bytes_seal(&bytes);
	last_err.text[0] = 0;
	if (capture_open_memory("x", bytes.data, bytes.size, &cap, &last_err) < 0)
		return last_err.text;
	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	while (capture_next(&cur, &record, &last_err) > 0)
		;
	return last_err.text;
}

#define HEADER(field, value) \
	verdict(offsetof(struct file_header, field), value, \
		sizeof(((struct file_header *)0)->field))

TEST(a_wrong_file_header_has_a_clear_message)
{
	CHECK_STR(HEADER(cpu_count, 1), "");
	CHECK_STR(HEADER(magic, 1), "'x' is not a sonde capture: bad magic at offset 0");
	CHECK_STR(HEADER(byte_order, 0x04030201), "'x' is from a host with the other byte order");
	CHECK_STR(HEADER(byte_order, 0),
		  "'x' is damaged: the byte order mark at offset 8 is 0x00000000, not 0x01020304");
	CHECK_STR(HEADER(version, 2),
		  "'x' is in format version 2, but this sonde reads only version 1");
	CHECK_STR(HEADER(version, 0),
		  "'x' is in format version 0, but this sonde reads only version 1");
	CHECK_STR(HEADER(size, 8),
		  "'x' is damaged: the header size at offset 16 is 8, which is invalid");
	CHECK_STR(HEADER(size, 1 << 20),
		  "'x' is truncated: the file header needs 1048576 bytes, the file has 1920");
	CHECK_STR(HEADER(strings, 120),
		  "'x' is damaged: expected 5 strings from offset 120 to 120");
	CHECK_STR(HEADER(strings, UINT32_MAX),
		  "'x' is damaged: expected 5 strings from offset 4294967295 to 120");
}

/* The offset of a field in the header of the n-th block. */
static size_t block_field(unsigned n, size_t field)
{
	_cleanup_(bytes_done) struct bytes bytes = small();

	return bytes_block(&bytes, n) + field;
}

#define BLOCK(n, field, value) \
	verdict(block_field(n, offsetof(struct block_header, field)), value, \
		sizeof(((struct block_header *)0)->field))

TEST(a_wrong_block_header_has_a_clear_message)
{
	CHECK_STR(BLOCK(1, first, 0), "");
	CHECK_STR(BLOCK(1, magic, 1), "'x' is damaged: expected a block at offset 256");
	CHECK_STR(BLOCK(1, number, 3),
		  "'x' is damaged: expected block 1 at offset 256, found block 3 of offset 256");
	CHECK_STR(BLOCK(1, offset, 64),
		  "'x' is damaged: expected block 1 at offset 256, found block 1 of offset 64");
	CHECK_STR(BLOCK(1, size, 10000), "'x' is truncated: the block at offset 256 needs 10064 "
					 "bytes, the file has 1664 left");
	CHECK(strstr(BLOCK(1, size, UINT64_MAX),
		     "'x' is truncated: the block at offset 256 needs "));
	CHECK_STR(BLOCK(1, size, 0), "'x' is damaged: expected a block at offset 320");
	CHECK_STR(BLOCK(1, count, 10),
		  "'x' is damaged: the end block at offset 1792 counts 27 records and 5 strings, "
		  "the file has 28 and 5");
	CHECK_STR(BLOCK(0, count, 1),
		  "'x' is damaged: in the block at offset 128, the number of its strings is wrong");
	CHECK_STR(BLOCK(0, size, 21),
		  "'x' is damaged: in the block at offset 128, a string is not terminated");
	CHECK_STR(BLOCK(4, size, 0),
		  "'x' is damaged: the end block at offset 1792 counts 0 records and 0 strings, "
		  "the file has 27 and 5");
}

TEST(an_unterminated_string_has_a_clear_message)
{
	_cleanup_(bytes_done) struct bytes bytes = small();
	_cleanup_(capture_freep) struct capture *whole = open_bytes(&bytes);
	struct block_header h;
	int n;

	/* remove the terminator of the second of two strings */
	unsigned char *at = bytes.data + bytes_block(&bytes, 0);
	memcpy(&h, at, sizeof(h));
	h.size--;
	h.count = 1;
	memcpy(at, &h, sizeof(h));
	bytes_seal(&bytes);
	_cleanup_(bytes_done) struct bytes bent = bytes_copy(&bytes, bytes.size);

	CHECK_INT(read_prefix(&bent, whole, &n), -EBADMSG);
	CHECK_STR(last_err.text,
		  "'x' is damaged: in the block at offset 128, a string is not terminated");
}

TEST(unknown_block_types_are_skipped)
{
	_cleanup_(bytes_done) struct bytes bytes = small();
	_cleanup_(capture_freep) struct capture *cap = NULL;
	struct block_header h;
	const struct record *record;
	struct capture_cursor cur;
	int n = 0;

	/* give the first block of records an unknown type */
	unsigned char *at = bytes.data + bytes_block(&bytes, 1);
	memcpy(&h, at, sizeof(h));
	h.type = 77;
	memcpy(at, &h, sizeof(h));
	uint64_t records = RECORD_KIND_COUNT - 1 - h.count;
	memcpy(bytes.data + bytes_block(&bytes, 4) + sizeof(h), &records, sizeof(records));
	bytes_seal(&bytes);

	CHECK_INT(capture_open_memory("x", bytes.data, bytes.size, &cap, &last_err), 0);
	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	while (capture_next(&cur, &record, &last_err) > 0)
		n++;
	CHECK_INT(n, records);
	CHECK(capture_is_complete(cap, NULL));
}

/* The offset of the record of a kind in the small capture. */
static size_t record_of(enum record_kind kind)
{
	_cleanup_(bytes_done) struct bytes bytes = small();
	_cleanup_(capture_freep) struct capture *cap = open_bytes(&bytes);
	const struct record *record;
	struct capture_cursor cur;

	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	while (capture_next(&cur, &record, &last_err) > 0)
		if (record->kind == kind)
			return (const unsigned char *)record - bytes.data;
	return 0;
}

#define RECORD(KIND, type, field, value) \
	verdict(record_of(RECORD_##KIND) + offsetof(struct record_##type, field), value, \
		sizeof(((struct record_##type *)0)->field))

TEST(a_malformed_record_has_a_clear_message)
{
	CHECK_STR(RECORD(RUN, run, start, 77), "");
	CHECK_STR(RECORD(RUN, run, head.words, 0),
		  "'x' is damaged: the record at offset 424 has 0 bytes, one of kind 1 needs 32");
	CHECK_STR(verdict(record_of(RECORD_RUN) + offsetof(struct record, tid), 0, 8),
		  "'x' is damaged: the record at offset 424 has 0 bytes, one of kind 0 needs 16");
	CHECK(strstr(RECORD(RUN, run, head.words, 1), " has 8 bytes, one of kind 1 needs 32"));
	CHECK(strstr(RECORD(RUN, run, head.words, 3), " has 24 bytes, one of kind 1 needs 32"));
	CHECK(strstr(RECORD(WAIT, wait, head.words, 7), " has 56 bytes, one of kind 2 needs 64"));
	CHECK_STR(RECORD(WAIT, wait, head.words, 9),
		  "'x' is damaged: the record at offset 688 needs 72 bytes, its block has 64 left");
	CHECK(strstr(RECORD(RUN, run, head.words, 255),
		     " needs 2040 bytes, its block has 328 left"));
	/* truncate the last record, an EXIT, to 8 bytes */
	size_t exit = record_of(RECORD_EXIT), records = block_field(3, sizeof(struct block_header));
	CHECK(strstr(BLOCK(3, size, exit + 8 - records), " needs 16 bytes, its block has 8 left"));
}

TEST(a_record_with_too_much_data_has_a_clear_message)
{
	const char *probe_event = " of kind 11, has data beyond its 32 bytes";
	const char *stack = " of kind 13, has data beyond its 40 bytes";

	CHECK_STR(RECORD(PROBE_EVENT, probe_event, size, 8), "");
	CHECK(strstr(RECORD(PROBE_EVENT, probe_event, size, 9), probe_event));
	CHECK(strstr(RECORD(PROBE_EVENT, probe_event, size, 65535), probe_event));
	CHECK_STR(RECORD(STACK, stack, user_count, 3), "");
	CHECK(strstr(RECORD(STACK, stack, user_count, 4), stack));
	CHECK(strstr(RECORD(STACK, stack, kernel_count, 65535), stack));
}

TEST(data_after_the_end_block_is_damage)
{
	_cleanup_(bytes_done) struct bytes bytes = small();
	_cleanup_(capture_freep) struct capture *whole = open_bytes(&bytes);
	_cleanup_(bytes_done) struct bytes longer = bytes_copy(&bytes, bytes.size + 1);
	int n;

	CHECK_INT(read_prefix(&longer, whole, &n), -EBADMSG);
	CHECK_STR(last_err.text, "'x' is damaged: it should end at offset 1920, 1 bytes follow");
	CHECK_INT(n, RECORD_KIND_COUNT - 1);
}
