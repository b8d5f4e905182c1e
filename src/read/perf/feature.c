/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_feature - the features of a perf.data file: what is known beside the events.
 *
 * None is needed but the formats of tracepoints, and any may be damaged: what
 * does not fit is as if it were not there.  Texts are used where they stand.
 */
#include <stdio.h>

#include "read/file/byte_cursor.h"
#include "read/perf/file.h"

/* 0 if there is none any more. */
static uint64_t take_number(struct byte_cursor *c, size_t size)
{
	uint64_t n = 0;

	byte_cursor_number(c, size, &n);
	return n;
}

/* A size and so many bytes, in which the text ends; NULL if it does not. */
static const char *take_text(struct byte_cursor *c)
{
	struct view text;

	return byte_cursor_block(c, 4, &text) && memchr(text.s, '\0', text.len) ? text.s : NULL;
}

/* As one line, cut where nobody reads on. */
static char *take_command(struct byte_cursor *c)
{
	char line[1024];
	size_t len = 0;
	const char *word;

	take_number(c, 4); /* how many words */
	while (len < sizeof(line) && (word = take_text(c)))
		len += snprintf(line + len, sizeof(line) - len, "%s%s", len ? " " : "", word);
	return len ? must_strdup(line) : NULL;
}

/* The same attributes again, each with its name. */
static void take_names(struct perf_file *file, struct byte_cursor *c)
{
	uint64_t count = take_number(c, 4), size = take_number(c, 4);
	struct view passed;

	for (uint64_t i = 0; i < count && i < file->attrs.count; i++) {
		if (!byte_cursor_take(c, size, &passed))
			return;

		uint64_t ids = take_number(c, 4);
		const char *name = take_text(c);

		if (!name || !byte_cursor_take(c, 8 * ids, &passed))
			return;
		if (!file->attrs.items[i].name)
			file->attrs.items[i].name = name;
	}
}

/* A version, a clock, and a moment as that of the day and this one show it. */
static void take_clock(struct perf_about *about, struct byte_cursor *c)
{
	take_number(c, 8);

	uint64_t day = take_number(c, 8), time = take_number(c, 8);

	about->has_realtime = day && time;
	about->realtime_offset = day - time;
}

static void take_compression(struct perf_about *about, struct byte_cursor *c)
{
	take_number(c, 8); /* a version, and a method: there is one */
	about->level = take_number(c, 4);
	take_number(c, 4); /* the ratio that was reached */
	about->ring_size = take_number(c, 4);
}

void perf_file_feature(struct perf_file *file, uint64_t feature, const uint8_t *data, size_t size)
{
	struct perf_about *about = &file->about;
	struct byte_cursor c = { (const char *)data, (const char *)data + size, file->swap };

	switch (feature) {
	case PERF_FEATURE_TRACING:
		perf_file_tracing(file, data, size);
		break;
	case PERF_FEATURE_HOST:
		about->host = take_text(&c);
		break;
	case PERF_FEATURE_RELEASE:
		about->release = take_text(&c);
		break;
	case PERF_FEATURE_VERSION:
		about->version = take_text(&c);
		break;
	case PERF_FEATURE_MACHINE:
		about->machine = take_text(&c);
		break;
	case PERF_FEATURE_CPUS:
		about->cpus = take_number(&c, 4);
		break;
	case PERF_FEATURE_COMMAND:
		if (!about->command)
			about->command = take_command(&c);
		break;
	case PERF_FEATURE_EVENTS:
		take_names(file, &c);
		break;
	case PERF_FEATURE_DIRECTORY:
		about->is_directory = true;
		break;
	case PERF_FEATURE_COMPRESSED:
		take_compression(about, &c);
		break;
	case PERF_FEATURE_CLOCK:
		take_clock(about, &c);
		break;
	}
}

/*
 * perf on 32 bits may run on a kernel of 64, whose formats are meant: how the
 * pages of its ring begin tells by the size of their field commit, a long.
 */
static unsigned long_size(struct view page, unsigned said)
{
	const char *end = page.s + page.len, *commit = memmem(page.s, page.len, "commit;", 7);
	const char *size = commit ? memmem(commit, end - commit, "size:", 5) : NULL;

	if (size && end - size > 5 && (size[5] == '4' || size[5] == '8'))
		return size[5] - '0';
	return said == 4 ? 4 : 8;
}

/*
 * A magic number, a version as text, the byte order, the size of a long and of
 * a page; two named texts about ftrace's own ring; then the formats.
 */
static bool take_preface(struct byte_cursor *c, unsigned *ret_long)
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
	take_number(c, 4);
	if (!byte_cursor_word(c, "header_page") || !byte_cursor_block(c, 8, &page) ||
	    !byte_cursor_word(c, "header_event") || !byte_cursor_block(c, 8, &begin))
		return false;
	*ret_long = long_size(page, word);
	return true;
}

void perf_file_tracing(struct perf_file *file, const uint8_t *data, size_t size)
{
	struct byte_cursor c = { (const char *)data, (const char *)data + size, false };
	struct kernel_abi abi;

	if (file->has_formats || !take_preface(&c, &abi.long_size))
		return;
	abi.swap = c.swap;
	abi.foreign_syscalls = file->about.machine && strcmp(file->about.machine, "x86_64") != 0;
	file->has_formats = true;
	kernel_formats_init(&file->formats, abi);
	c.at += kernel_formats_read_ftrace(&file->formats, c.at, byte_cursor_left(&c));
	kernel_formats_read_systems(&file->formats, c.at, byte_cursor_left(&c));
	perf_file_bind(file);
}
