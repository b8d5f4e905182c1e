/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracedat_file - reads everything in a trace.dat except options and pages.
 *
 * Version 6 is a sequence: layout of pages, formats of events, symbols, names of
 * threads, options, and the positions of the pages.  Version 7 has the same parts in
 * sections, which can be compressed; the options contain their offsets.
 */
#include <errno.h>
#include <string.h>

#include "read/tracedat/tracedat.h"

enum tracedat_section {
	SECTION_OPTIONS = 0,
	SECTION_HEADER = 16,
	SECTION_FTRACE = 17,
	SECTION_EVENTS = 18,
	SECTION_CMDLINES = 21,
};

static const char *section_name(enum tracedat_section section)
{
	switch (section) {
	case SECTION_OPTIONS:
		return "options section";
	case SECTION_HEADER:
		return "page layout section";
	case SECTION_FTRACE:
		return "ftrace format section";
	case SECTION_EVENTS:
		return "event format section";
	default:
		return "thread name section";
	}
}

int tracedat_fail_damaged(const struct tracedat *t, const char *at, const char *what,
			  struct err *err)
{
	if (at >= t->file.s && at <= t->file.s + t->file.len)
		return err_set(err, -EBADMSG, "'%s' is damaged: no valid %s at byte %zu", t->path,
			       what, (size_t)(at - t->file.s));
	return err_set(err, -EBADMSG, "'%s' is damaged: no valid %s in a compressed section",
		       t->path, what);
}

/* Parses the description of a page, which has the syntax of an event format. */
static bool read_page_format(struct tracedat *t, struct view text)
{
	struct tracepoint format;
	struct tracedat_page page = { 0 };

	tracepoint_init(&format, text.s, text.len, 8);
	for (size_t i = 0; i < format.fields.count; i++) {
		const struct tracepoint_field *field = &format.fields.items[i];

		if (strcmp(field->name, "commit") == 0 && field->offset == 8)
			page.commit_size = field->size;
		else if (strcmp(field->name, "data") == 0)
			page.data_at = field->offset;
	}
	tracepoint_done(&format);
	if ((page.commit_size != 4 && page.commit_size != 8) ||
	    page.data_at < 8 + page.commit_size || page.data_at > 64)
		return false;
	t->page = page;
	t->abi.long_size = page.commit_size;
	return true;
}

static int read_header_info(struct tracedat *t, struct byte_cursor *c, struct err *err)
{
	const char *at = c->at;
	struct view page, event;

	if (!byte_cursor_word(c, "header_page") || !byte_cursor_block(c, 8, &page) ||
	    !byte_cursor_word(c, "header_event") || !byte_cursor_block(c, 8, &event) ||
	    !read_page_format(t, page))
		return tracedat_fail_damaged(t, at, "page layout", err);
	return 0;
}

static void add_name(struct tracedat *t, uint32_t tid, struct view name)
{
	*vec_push(&t->names) = (struct raw_text){ name.s, name.len };
	*map_insert(&t->comms, tid) = t->names.count;
}

/* Each line is a tid and a name, which can contain blanks. */
static void read_cmdlines(struct tracedat *t, struct view text)
{
	const char *end = text.s + text.len;

	for (const char *at = text.s, *line_end; at < end; at = line_end + 1) {
		uint64_t tid = 0;

		line_end = memchr(at, '\n', end - at) ?: end;
		while (at < line_end && *at == ' ')
			at++;
		for (; at < line_end && *at >= '0' && *at <= '9' && tid < RAW_UNKNOWN; at++)
			tid = 10 * tid + (*at - '0');
		if (line_end - at > 1 && *at == ' ' && at[1] != '<' && tid && tid < RAW_UNKNOWN)
			add_name(t, tid, (struct view){ at + 1, line_end - at - 1 });
	}
}

static int read_ftrace(struct tracedat *t, struct byte_cursor *c, struct err *err)
{
	size_t used = kernel_formats_read_ftrace(&t->formats, c->at, byte_cursor_left(c));

	c->at += used;
	return used ? 0 : tracedat_fail_damaged(t, c->at, "list of ftrace formats", err);
}

static int read_systems(struct tracedat *t, struct byte_cursor *c, struct err *err)
{
	size_t used = kernel_formats_read_systems(&t->formats, c->at, byte_cursor_left(c));

	c->at += used;
	return used ? 0 : tracedat_fail_damaged(t, c->at, "list of event formats", err);
}

/* Reads the positions of the pages of a buffer, in version 6. */
static int read_rings(struct tracedat *t, struct byte_cursor *c, struct tracedat_offsets *offsets,
		      struct err *err)
{
	uint64_t offset, size;
	int r;

	if (byte_cursor_word(c, "options  ")) {
		r = tracedat_read_options(t, c, offsets, err);
		if (r < 0)
			return r;
	}
	if (byte_cursor_word(c, "latency  "))
		return tracedat_fail_text(t, err);
	if (!byte_cursor_word(c, "flyrecord"))
		return tracedat_fail_damaged(t, c->at, "keyword 'flyrecord'", err);
	for (uint32_t cpu = 0; cpu < t->cpu_count; cpu++) {
		if (!byte_cursor_number(c, 8, &offset) || !byte_cursor_number(c, 8, &size))
			return tracedat_fail_damaged(t, c->at, "offset of a CPU's pages", err);
		tracedat_add_ring(t, cpu, t->page_size, offset, size, false);
	}
	return 0;
}

static struct byte_cursor cursor_at(const struct tracedat *t, uint64_t offset)
{
	const char *end = t->file.s + t->file.len;

	return (struct byte_cursor){ offset < t->file.len ? t->file.s + offset : end, end,
				     t->abi.swap };
}

static int read_version_6(struct tracedat *t, struct byte_cursor *c,
			  struct tracedat_offsets *offsets, struct err *err)
{
	struct view symbols, printk, cmdlines;
	uint64_t cpus;
	int r;

	if ((r = read_header_info(t, c, err)) < 0 || (r = read_ftrace(t, c, err)) < 0 ||
	    (r = read_systems(t, c, err)) < 0)
		return r;
	if (!byte_cursor_block(c, 4, &symbols) || !byte_cursor_block(c, 4, &printk) ||
	    !byte_cursor_block(c, 8, &cmdlines) || !byte_cursor_number(c, 4, &cpus))
		return tracedat_fail_damaged(t, c->at, "symbols, thread names or CPU count", err);
	read_cmdlines(t, cmdlines);
	t->cpu_count = cpus;
	r = read_rings(t, c, offsets, err);
	for (size_t i = 0; r >= 0 && i < offsets->instances.count; i++) {
		struct byte_cursor instance = cursor_at(t, offsets->instances.items[i]);

		r = read_rings(t, &instance, offsets, err);
	}
	return r;
}

/* Decompresses a section; the result lives as long as the trace. */
static bool unpack_section(struct tracedat *t, struct byte_cursor *c)
{
	enum {
		MAX_BYTES = 1 << 26
	}; /* limit for all sections; the formats of a whole kernel take 5 MB */
	struct view compressed;
	uint64_t compressed_size, size;

	if (!t->unpack || !byte_cursor_number(c, 4, &compressed_size) ||
	    !byte_cursor_number(c, 4, &size) ||
	    !byte_cursor_take(c, compressed_size, &compressed) ||
	    size > MAX_BYTES - t->section_bytes || !unpack_admit(t->unpack, compressed, size))
		return false;

	char *decompressed = must_alloc(size);

	t->section_bytes += size;
	*vec_push(&t->sections) = decompressed;
	*c = (struct byte_cursor){ decompressed, decompressed + size, t->abi.swap };
	return unpack_run(t->unpack, compressed, decompressed, size);
}

static int open_section(struct tracedat *t, uint64_t offset, enum tracedat_section want,
			struct byte_cursor *ret, struct err *err)
{
	struct byte_cursor c = cursor_at(t, offset);
	const char *at = c.at;
	uint64_t id, flags, name;
	struct view body;

	if (!byte_cursor_number(&c, 2, &id) || !byte_cursor_number(&c, 2, &flags) ||
	    !byte_cursor_number(&c, 4, &name) || !byte_cursor_block(&c, 8, &body) || id != want)
		return tracedat_fail_damaged(t, at, section_name(want), err);
	*ret = (struct byte_cursor){ body.s, body.s + body.len, t->abi.swap };
	if (flags & 1 && !unpack_section(t, ret))
		return tracedat_fail_damaged(t, at, "compressed section", err);
	return 0;
}

/* Reads the chain of option lists. */
static int read_all_options(struct tracedat *t, uint64_t offset, struct tracedat_offsets *offsets,
			    struct err *err)
{
	enum { MAX_LISTS = 64 }; /* more than in any valid file; ends cycles in damaged ones */
	struct byte_cursor c;
	int r;

	for (size_t i = 0; offset && i < MAX_LISTS; i++) {
		r = open_section(t, offset, SECTION_OPTIONS, &c, err);
		if (r < 0)
			return r;
		offsets->next = 0;
		r = tracedat_read_options(t, &c, offsets, err);
		if (r < 0)
			return r;
		offset = offsets->next;
	}
	return 0;
}

static int read_version_7(struct tracedat *t, struct byte_cursor *c,
			  struct tracedat_offsets *offsets, struct err *err)
{
	static const struct {
		enum tracedat_section id;
		int (*read)(struct tracedat *t, struct byte_cursor *c, struct err *err);
	} needed[] = {
		{ SECTION_HEADER, read_header_info },
		{ SECTION_FTRACE, read_ftrace },
		{ SECTION_EVENTS, read_systems },
	};
	const char *method, *method_version;
	struct byte_cursor section;
	struct view cmdlines;
	uint64_t offset;

	if (!byte_cursor_string(c, &method) || !byte_cursor_string(c, &method_version) ||
	    !byte_cursor_number(c, 8, &offset))
		return tracedat_fail_damaged(t, c->at, "offset of the first section", err);
	if (strcmp(method, "none") != 0 &&
	    !(t->unpack = unpack_new(method, t->path, t->file.len, err)))
		return -ENOTSUP;

	int r = read_all_options(t, offset, offsets, err);

	for (size_t i = 0; r >= 0 && i < ARRAY_LEN(needed); i++) {
		r = open_section(t, offsets->sections[needed[i].id], needed[i].id, &section, err);
		if (r >= 0)
			r = needed[i].read(t, &section, err);
	}
	/* the names of threads are optional */
	struct err ignored;
	if (r >= 0 &&
	    open_section(t, offsets->sections[SECTION_CMDLINES], SECTION_CMDLINES, &section,
			 &ignored) == 0 &&
	    byte_cursor_block(&section, 8, &cmdlines))
		read_cmdlines(t, cmdlines);
	return r;
}

static const char magic[] = "\x17\x08\x44tracing";

bool tracedat_has_magic(const char *head, size_t size)
{
	return size >= sizeof(magic) && memcmp(head, magic, sizeof(magic) - 1) == 0;
}

int tracedat_read_head(struct tracedat *t, struct err *err)
{
	static const bool host_is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	struct tracedat_offsets offsets = { 0 };
	const char *version;
	uint64_t endian, long_size, page_size;

	if (!tracedat_has_magic(t->file.s, t->file.len))
		return err_set(err, -EBADMSG, "'%s' is not a trace.dat file (bad magic)", t->path);

	struct byte_cursor c = { t->file.s + sizeof(magic) - 1, t->file.s + t->file.len, false };

	if (!byte_cursor_string(&c, &version) || !byte_cursor_number(&c, 1, &endian) ||
	    !byte_cursor_number(&c, 1, &long_size))
		return tracedat_fail_damaged(t, c.at, "version or byte order", err);
	if (strcmp(version, "6") != 0 && strcmp(version, "7") != 0)
		return err_set(err, -EBADMSG,
			       "'%s' is a trace.dat file of an unsupported version; sonde reads "
			       "versions 6 "
			       "and 7",
			       t->path);
	t->version = version[0] - '0';
	t->is_big_endian = endian == 1;
	t->abi.swap = c.swap = t->is_big_endian != host_is_big;
	if (endian > 1 || !byte_cursor_number(&c, 4, &page_size) || page_size < TRACEDAT_MIN_PAGE ||
	    page_size > TRACEDAT_MAX_PAGE)
		return tracedat_fail_damaged(t, c.at, "byte order or page size", err);
	t->page_size = page_size;
	t->abi.long_size = 8;
	kernel_formats_init(&t->formats, t->abi);

	int r = t->version == 6 ? read_version_6(t, &c, &offsets, err)
				: read_version_7(t, &c, &offsets, err);

	vec_done(&offsets.instances);
	t->formats.abi = t->abi;
	return r;
}
