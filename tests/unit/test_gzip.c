/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/gzip.h"

#include "gzip_build.h"
#include "test.h"

static void make_text(char *text, size_t size)
{
	unsigned int seed = 1;

	for (size_t i = 0; i < size; i++)
		text[i] = rand_r(&seed) % 23;
}

static int unpack(const struct pb_buffer *packed, size_t limit, struct pb_buffer *ret)
{
	struct err err = { "" };
	int r = gzip_inflate((struct view){ (const char *)packed->data, packed->size }, limit, ret,
			     &err);

	CHECK((r < 0) == (err.text[0] != '\0'));
	return r;
}

TEST(what_is_compressed_is_decompressed)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 100000, 3 << 20 };
	static char text[3 << 20];

	make_text(text, sizeof(text));
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		_cleanup_(pb_buffer_done) struct pb_buffer packed = { 0 }, plain = { 0 };

		gzip_build((struct view){ text, sizes[i] }, &packed);
		CHECK_INT(unpack(&packed, sizes[i], &plain), 0);
		CHECK_INT(plain.size, sizes[i]);
		CHECK(plain.capacity <= sizes[i]);
		CHECK(!sizes[i] || memcmp(plain.data, text, sizes[i]) == 0);
	}
}

TEST(one_byte_more_than_the_limit_is_an_error)
{
	static char text[10000];

	make_text(text, sizeof(text));
	for (size_t size = 1; size <= sizeof(text); size = size * 3 + 1) {
		_cleanup_(pb_buffer_done) struct pb_buffer packed = { 0 }, plain = { 0 };

		gzip_build((struct view){ text, size }, &packed);
		CHECK_INT(unpack(&packed, size - 1, &plain), -EMSGSIZE);
		CHECK(!plain.data);
	}
}

TEST(several_members_are_decompressed_as_one)
{
	_cleanup_(pb_buffer_done) struct pb_buffer packed = { 0 }, plain = { 0 };
	struct pb_buffer twice = { 0 };

	gzip_build((struct view){ "spans", 5 }, &packed);
	twice.size = 2 * packed.size;
	twice.data = must_alloc(twice.size);
	memcpy(twice.data, packed.data, packed.size);
	memcpy(twice.data + packed.size, packed.data, packed.size);
	CHECK_INT(unpack(&twice, 100, &plain), 0);
	CHECK_INT(plain.size, 10);
	CHECK(memcmp(plain.data, "spansspans", 10) == 0);
	pb_buffer_done(&twice);
}

TEST(damaged_and_incomplete_input_is_an_error)
{
	_cleanup_(pb_buffer_done) struct pb_buffer packed = { 0 };
	struct pb_buffer cut, plain = { 0 };

	CHECK_INT(unpack(&plain, 1000, &plain), -EBADMSG); /* nothing at all */
	gzip_build((struct view){ "resource spans, resource spans", 30 }, &packed);
	for (cut = packed, cut.size = 0; cut.size < packed.size; cut.size++)
		CHECK_INT(unpack(&cut, 1000, &plain), -EBADMSG);
	packed.data[packed.size - 6] ^= 1; /* the checksum */
	CHECK_INT(unpack(&packed, 1000, &plain), -EBADMSG);
	CHECK(!plain.data);
}

/* 1,000 times as large as its compressed form. */
TEST(a_zip_bomb_takes_no_more_than_the_limit)
{
	static char zeros[8 << 20];
	_cleanup_(pb_buffer_done) struct pb_buffer packed = { 0 }, plain = { 0 };

	gzip_build((struct view){ zeros, sizeof(zeros) }, &packed);
	CHECK(packed.size < sizeof(zeros) / 200);
	CHECK_INT(unpack(&packed, sizeof(zeros) - 1, &plain), -EMSGSIZE);
	CHECK_INT(unpack(&packed, 0, &plain), -EMSGSIZE);
	CHECK_INT(unpack(&packed, sizeof(zeros), &plain), 0);
}
