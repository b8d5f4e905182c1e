/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures stored as files.  This or an earlier version wrote those in data/good,
 * which must always be readable.  Those in data/bad are truncated, corrupted or
 * found by a fuzzer, and have their error message in a .txt file.
 *
 * SONDE_BLESS=1 writes the messages, and the samples that are generated here; read
 * the diff before committing it.
 */
#include <dirent.h>
#include <errno.h>

#include "build.h"
#include "bytes.h"
#include "event/capture_format.h"
#include "test.h"

static bool blessing(void)
{
	return getenv("SONDE_BLESS") != NULL;
}

/* Change to that directory, so that messages contain names without paths. */
static DIR *enter(const char *name)
{
	_cleanup_(freep) char *path = must_printf("%s/%s", getenv("SONDE_TEST_DATA") ?: "", name);
	DIR *dir = opendir(path);

	CHECK(dir && fchdir(dirfd(dir)) == 0); /* meson sets the path */
	return dir;
}

static const char *next_capture(DIR *dir)
{
	for (struct dirent *e; (e = readdir(dir));) {
		const char *dot = strrchr(e->d_name, '.');

		if (dot && strcmp(dot, ".sonde") == 0)
			return e->d_name;
	}
	return NULL;
}

/* The error message for a capture; "" if it is readable. */
static const char *verdict(const char *path, uint64_t *ret_records)
{
	static struct err err;
	_cleanup_(capture_freep) struct capture *cap = NULL;
	const struct record *record;
	struct capture_cursor cur;

	err.text[0] = 0;
	*ret_records = 0;
	if (capture_open(path, &cap, &err) < 0)
		return err.text;
	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	while (capture_next(&cur, &record, &err) > 0)
		++*ret_records;
	return err.text;
}

/* Only records of one kind, so that a file changes only with that kind. */
static void make_small(const char *path, bool close)
{
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(path);
	struct record later = { .time = 150, .kind = 200, .words = 2 };
	uint32_t comm = capture_add_string(w, "redis-server");
	struct err err;

	build_add(w, REC(TASK, task, 100, 17, .pid = 17, .comm = comm));
	build_add(w, &later);
	build_add(w, REC(RUN, run, 200, 17, .start = 100));
	CHECK_INT(capture_flush(w, &err), 0);
	build_add(w, REC(RUN, run, 300, 17, .start = 250));
	build_probe_event(w, 400, 1, "data", 4);
	build_stack(w, 500, 1, 2, 1);
	if (close)
		build_close(w);
	else
		CHECK_INT(capture_flush(w, &err), 0);
}

static void make_good(void)
{
	make_small("small.sonde", true);
	make_small("cut.sonde", false);
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture("nothing.sonde");
	build_close(w);
}

TEST(good_captures_are_readable)
{
	DIR *dir = enter("good");
	uint64_t records;
	int n = 0;

	if (!dir)
		return;
	if (blessing())
		make_good();
	for (const char *name; (name = next_capture(dir)); n++)
		CHECK_STR(verdict(name, &records), "");
	CHECK(n >= 3);
	CHECK_STR(verdict("small.sonde", &records), "");
	CHECK_INT(records, 5);
	CHECK_STR(verdict("nothing.sonde", &records), "");
	CHECK_INT(records, 0);
	closedir(dir);
}

/* Set a field in the n-th block of the small capture. */
static const struct {
	const char *name;
	int block; /* -1: the file header */
	size_t at;
	uint32_t value;
	bool seal;
} bent[] = {
	{ "byte-order", -1, offsetof(struct file_header, byte_order), 0x04030201, true },
	{ "newer-version", -1, offsetof(struct file_header, version), 2, true },
	{ "header-strings", -1, offsetof(struct file_header, strings), 0x7fffffff, true },
	{ "header-checksum", -1, offsetof(struct file_header, cpu_count), 5, false },
	{ "block-header-checksum", 1, offsetof(struct block_header, count), 5, false },
	{ "block-checksum", 2, sizeof(struct block_header), 5, false },
	{ "block-size", 2, offsetof(struct block_header, size), 10000, true },
	{ "block-number", 2, offsetof(struct block_header, number), 7, true },
	{ "string-count", 0, offsetof(struct block_header, count), 7, true },
	{ "string-without-end", 0, offsetof(struct block_header, size), 5, true },
	{ "end-totals", 3, sizeof(struct block_header), 77, true },
	{ "record-without-size", 2, sizeof(struct block_header) + 12, RECORD_RUN << 16, true },
	{ "unknown-without-size", 2, sizeof(struct block_header) + 12, 255 << 16, true },
	{ "record-too-long", 2, sizeof(struct block_header) + 12, 0xff010000, true },
	{ "record-too-short", 2, sizeof(struct block_header) + 12, 0x04020000, true },
	{ "hit-too-long", 2, sizeof(struct block_header) + 32 + 16, 9 << 16, true },
	{ "stack-too-deep", 2, sizeof(struct block_header) + 64 + 20, 0xffff, true },
};

static void make_bent(const struct bytes *good, size_t i)
{
	_cleanup_(freep) char *path = must_printf("%s.sonde", bent[i].name);
	_cleanup_(bytes_done) struct bytes bytes = bytes_copy(good, good->size);
	size_t at = bent[i].at + (bent[i].block < 0 ? 0 : bytes_block(good, bent[i].block));

	memcpy(bytes.data + at, &bent[i].value, sizeof(bent[i].value));
	if (bent[i].seal)
		bytes_seal(&bytes);
	bytes_write(&bytes, path);
}

static void make_bad(void)
{
	_cleanup_(bytes_done) struct bytes bytes = bytes_read("../good/small.sonde");
	struct bytes text = { (unsigned char *)"pid,state\n17,R\n", 15 };

	for (size_t i = 0; i < ARRAY_LEN(bent); i++)
		make_bent(&bytes, i);
	bytes_write(&text, "text.sonde");
	text.size = 0;
	bytes_write(&text, "empty.sonde");

	struct bytes cut = bytes;
	cut.size = 20;
	bytes_write(&cut, "cut-in-header.sonde");
	cut.size = bytes_block(&bytes, 1) + 100;
	bytes_write(&cut, "cut-in-block.sonde");
	_cleanup_(bytes_done) struct bytes longer = bytes_copy(&bytes, bytes.size + 64);
	bytes_write(&longer, "after-the-end.sonde");
	memset(bytes.data + bytes_block(&bytes, 1), 0, sizeof(struct block_header));
	bytes_write(&bytes, "wiped-block.sonde");
}

TEST(bad_captures_have_their_message)
{
	DIR *dir = enter("bad");
	uint64_t records;
	int n = 0;

	if (!dir)
		return;
	if (blessing())
		make_bad();
	for (const char *name; (name = next_capture(dir)); n++) {
		_cleanup_(freep) char *stem = must_strdup(name);
		stem[strlen(stem) - strlen(".sonde")] = 0;
		_cleanup_(freep) char *path = must_printf("%s.txt", stem);
		_cleanup_(freep) char *got = must_printf("%s\n", verdict(name, &records));

		if (blessing())
			bytes_write(&(struct bytes){ (unsigned char *)got, strlen(got) }, path);
		_cleanup_(bytes_done) struct bytes want = bytes_read(path);
		want.data[want.size] = 0;
		CHECK_STR(got, (const char *)want.data);
		CHECK(got[0] == '\'');
	}
	CHECK(n >= 20);
	closedir(dir);
}
