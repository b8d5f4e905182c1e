/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: a capture.  Checksums are recomputed, so that damaged records are exported.  The
 * export must succeed, and the sizes in the packets must match the files.
 */
#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "event/capture.h"
#include "report/export/ctf.h"
#include "unit/bytes.h"
#include "unit/capture_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

/* Offsets of the sizes, in bits, in a packet head; size of the head. */
enum { CONTENT_AT = 48, SIZE_AT = 56, HEAD = 84 };

static uint64_t bytes_at(const struct bytes *b, size_t at)
{
	uint64_t bits;

	memcpy(&bits, b->data + at, sizeof(bits));
	assert(bits % 8 == 0);
	return bits / 8;
}

static void check_stream(const char *path)
{
	_cleanup_(bytes_done) struct bytes b = bytes_read(path);

	for (size_t at = 0; at < b.size;) {
		assert(b.size - at >= HEAD);
		assert(bytes_at(&b, at + CONTENT_AT) <= bytes_at(&b, at + SIZE_AT));
		assert(bytes_at(&b, at + SIZE_AT) >= HEAD);
		at += bytes_at(&b, at + SIZE_AT);
		assert(at <= b.size);
	}
}

/* Check the files of a trace and remove it. */
static void check_and_remove(const char *directory)
{
	DIR *dir = opendir(directory);

	assert(dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		_cleanup_(freep) char *path = must_printf("%s/%s", directory, entry->d_name);

		if (entry->d_name[0] == '.')
			continue;
		if (strncmp(entry->d_name, "channel", 7) == 0)
			check_stream(path);
		assert(unlink(path) == 0);
	}
	closedir(dir);
	assert(rmdir(directory) == 0);
}

static void export(const struct capture *cap)
{
	_cleanup_(ctf_export_freep) struct ctf_export *x = ctf_export_new();
	char directory[] = "/tmp/fuzz-export-XXXXXX";
	struct lttng_origin origin = { .host = capture_meta(cap)->host };
	const struct record *record;
	const struct source *source;
	struct capture_stream stream;
	struct record_stream records = capture_stream_open(&stream, cap);
	struct err err;

	while (stream_next(&records, &record, &source, &err) > 0)
		ctf_export_add(x, source, record);
	assert(mkdtemp(directory));
	assert(ctf_export_write(x, &origin, directory, &err) == 0);
	check_and_remove(directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	struct bytes given = { (uint8_t *)input, size };
	_cleanup_(bytes_done) struct bytes bytes = bytes_copy(&given, size);
	_cleanup_(capture_freep) struct capture *cap = NULL;
	struct err err;

	bytes_seal(&bytes);
	if (capture_open_memory("fuzz", bytes.data, size, &cap, &err) == 0)
		export(cap);
	return 0;
}
