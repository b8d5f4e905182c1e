/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_feature - the features of a perf.data file, which describe the recording.
 *
 * Only the formats of tracepoints are required.  Damaged features are ignored.  Texts
 * point into the file.
 */
#include <stdio.h>

#include "read/file/byte_cursor.h"
#include "read/perf/file.h"

/* 0 at the end. */
static uint64_t read_number(struct byte_cursor *c, size_t size)
{
	uint64_t n = 0;

	byte_cursor_number(c, size, &n);
	return n;
}

/* A size and a terminated text of that size; NULL if it is not terminated. */
static const char *read_text(struct byte_cursor *c)
{
	struct view text;

	return byte_cursor_block(c, 4, &text) && memchr(text.s, '\0', text.len) ? text.s : NULL;
}

/* The command line, truncated to 1 KiB. */
static char *read_command(struct byte_cursor *c)
{
	char line[1024];
	size_t len = 0;
	const char *word;

	read_number(c, 4); /* number of words */
	while (len < sizeof(line) && (word = read_text(c)))
		len += snprintf(line + len, sizeof(line) - len, "%s%s", len ? " " : "", word);
	return len ? must_strdup(line) : NULL;
}

/* A copy of the attributes, with names. */
static void read_names(struct perf_file *file, struct byte_cursor *c)
{
	uint64_t count = read_number(c, 4), size = read_number(c, 4);
	struct view passed;

	for (uint64_t i = 0; i < count && i < file->attrs.count; i++) {
		if (!byte_cursor_take(c, size, &passed))
			return;

		uint64_t ids = read_number(c, 4);
		const char *name = read_text(c);

		if (!name || !byte_cursor_take(c, 8 * ids, &passed))
			return;
		if (!file->attrs.items[i].name)
			file->attrs.items[i].name = name;
	}
}

/* Version, clock, and one moment in CLOCK_REALTIME and in that clock. */
static void read_clock(struct perf_about *about, struct byte_cursor *c)
{
	read_number(c, 8);

	uint64_t day = read_number(c, 8), time = read_number(c, 8);

	about->has_realtime = day && time;
	about->realtime_offset = day - time;
}

static void read_compression(struct perf_about *about, struct byte_cursor *c)
{
	read_number(c, 8); /* version and method; there is only one method */
	about->level = read_number(c, 4);
	read_number(c, 4); /* compression ratio */
	about->ring_size = read_number(c, 4);
}

void perf_file_add_feature(struct perf_file *file, uint64_t feature, const uint8_t *data,
			   size_t size)
{
	struct perf_about *about = &file->about;
	struct byte_cursor c = { (const char *)data, (const char *)data + size, file->swap };

	switch (feature) {
	case PERF_FEATURE_TRACING:
		perf_file_add_tracing(file, data, size);
		break;
	case PERF_FEATURE_HOST:
		about->host = read_text(&c);
		break;
	case PERF_FEATURE_RELEASE:
		about->release = read_text(&c);
		break;
	case PERF_FEATURE_VERSION:
		about->version = read_text(&c);
		break;
	case PERF_FEATURE_MACHINE:
		about->machine = read_text(&c);
		break;
	case PERF_FEATURE_CPUS:
		about->cpus = read_number(&c, 4);
		break;
	case PERF_FEATURE_COMMAND:
		if (!about->command)
			about->command = read_command(&c);
		break;
	case PERF_FEATURE_EVENTS:
		read_names(file, &c);
		break;
	case PERF_FEATURE_DIRECTORY:
		about->is_directory = true;
		break;
	case PERF_FEATURE_COMPRESSED:
		read_compression(about, &c);
		break;
	case PERF_FEATURE_CLOCK:
		read_clock(about, &c);
		break;
	}
}

/*
 * A 32-bit perf can run on a 64-bit kernel, and the formats are those of the kernel.
 * The field `commit` in the header of a ring-buffer page is a long of the kernel.
 */
static unsigned long_size(struct view page, unsigned perf_size)
{
	const char *end = page.s + page.len, *commit = memmem(page.s, page.len, "commit;", 7);
	const char *size = commit ? memmem(commit, end - commit, "size:", 5) : NULL;

	if (size && end - size > 5 && (size[5] == '4' || size[5] == '8'))
		return size[5] - '0';
	return perf_size == 4 ? 4 : 8;
}

/*
 * Reads what precedes the formats: magic, version, byte order, sizes of a long and of
 * a page, and two named texts that describe ftrace's ring.
 */
static bool read_preface(struct byte_cursor *c, unsigned *ret_long)
{
	static const char magic[] = "\x17\x08\x44tracing";
	const char *version;
	struct view begin, page;
	uint64_t order, word;

	if (!byte_cursor_take(c, sizeof(magic) - 1, &begin) ||
	    memcmp(begin.s, magic, sizeof(magic) - 1) != 0 || !byte_cursor_string(c, &version) ||
	    !byte_cursor_number(c, 1, &order) || !byte_cursor_number(c, 1, &word))
		return false;
	c->swap = (order != 0) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	read_number(c, 4);
	if (!byte_cursor_word(c, "header_page") || !byte_cursor_block(c, 8, &page) ||
	    !byte_cursor_word(c, "header_event") || !byte_cursor_block(c, 8, &begin))
		return false;
	*ret_long = long_size(page, word);
	return true;
}

void perf_file_add_tracing(struct perf_file *file, const uint8_t *data, size_t size)
{
	struct byte_cursor c = { (const char *)data, (const char *)data + size, false };
	struct kernel_abi abi;

	if (file->has_formats || !read_preface(&c, &abi.long_size))
		return;
	abi.swap = c.swap;
	abi.foreign_syscalls = file->about.machine && strcmp(file->about.machine, "x86_64") != 0;
	file->has_formats = true;
	kernel_formats_init(&file->formats, abi);
	c.at += kernel_formats_read_ftrace(&file->formats, c.at, byte_cursor_left(&c));
	kernel_formats_read_systems(&file->formats, c.at, byte_cursor_left(&c));
	perf_file_bind(file);
}
