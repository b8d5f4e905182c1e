/* SPDX-License-Identifier: Apache-2.0 */
/* trace.dat files of version 7: sections, options, buffers, compressed pages, damage. */
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "guard.h"
#include "tracedat_build.h"

static size_t begin_section(struct file *f, unsigned id)
{
	size_t at = f->bytes.count;

	put(f, 2, id);
	put(f, 2, 0);
	put(f, 4, 0);
	put(f, 8, 0);
	return at;
}

static void end_section(struct file *f, size_t at)
{
	set(f, at + 8, 8, f->bytes.count - at - 16);
}

static void put_offset(struct file *f, unsigned option, size_t at)
{
	put(f, 2, option);
	put(f, 4, 8);
	put(f, 8, at);
}

static void put_buffer(struct file *f, const char *name, const char *clock, size_t pages)
{
	put(f, 2, 3);
	put(f, 4, 8 + strlen(name) + 1 + strlen(clock) + 1 + 8 + 20);
	put(f, 8, pages - 16);
	put_string(f, name);
	put_string(f, clock);
	put(f, 4, PAGE);
	put(f, 4, 1);
	put(f, 4, 3); /* CPU 3 */
	put(f, 8, pages);
	put(f, 8, PAGE);
}

/* Writes a section with one page of one event; returns the offset of the page. */
static size_t put_pages(struct file *f, uint64_t time, unsigned pid)
{
	size_t section = begin_section(f, 3), page = begin_page(f, time);

	put_waking(f, 0, pid);
	end_page(f, page, 0);
	end_section(f, section);
	return page;
}

/* Offsets that tests change. */
struct offsets {
	size_t section; /* section with the pages of the first buffer */
	size_t buffer;  /* option of the first buffer */
};

/* Writes a file of version 7 with two buffers; `more` adds options. */
static struct offsets make_version_7(struct file *f, const char *second_clock,
				     void (*more)(struct file *f))
{
	put_begin(f, "7");
	put_string(f, "none");
	put_string(f, "");
	size_t first = f->bytes.count;
	put(f, 8, 0);
	size_t header = begin_section(f, 16);
	put_header_info(f);
	end_section(f, header);
	size_t ftrace = begin_section(f, 17);
	put(f, 4, 0);
	end_section(f, ftrace);
	size_t systems = begin_section(f, 18);
	put_systems(f);
	end_section(f, systems);
	size_t top = put_pages(f, 100, 1), other = put_pages(f, 90, 2);
	set(f, first, 8, f->bytes.count);
	size_t options = begin_section(f, 0);
	put_offset(f, 16, header);
	put_offset(f, 17, ftrace);
	put_offset(f, 18, systems);
	if (more)
		more(f);
	put_offset(f, 0, f->bytes.count + 14);
	end_section(f, options);
	options = begin_section(f, 0);
	size_t buffer = f->bytes.count;
	put_buffer(f, "", "mono", top);
	put_buffer(f, "second", second_clock, other);
	put_offset(f, 0, 0);
	end_section(f, options);
	return (struct offsets){ top - 16, buffer };
}

TEST(version_7_has_sections_and_several_buffers)
{
	for (int big = 0; big < 2; big++) {
		_cleanup_(file_done) struct file f = { .big = big };
		make_version_7(&f, "mono", NULL);
		READ(&f);

		CHECK_INT(r.code, 0);
		CHECK_INT(r.events.count, 2);
		if (r.events.count != 2)
			return;
		CHECK_INT(r.events.items[0].wake.tid, 2);
		CHECK_INT(r.events.items[1].wake.tid, 1);
		CHECK_INT(r.events.items[1].cpu, 3);
		CHECK(r.source->is_monotonic);
	}
}

TEST(a_buffer_with_another_clock_is_ignored)
{
	_cleanup_(file_done) struct file f = { 0 };
	make_version_7(&f, "boot", NULL);
	READ(&f);

	CHECK_INT(r.events.count, 1);
	CHECK_STR(
		r.source->warning,
		"'x.dat' contains buffers with different clocks; only those with the clock of the "
		"first one are read");
}

static void put_date(struct file *f)
{
	put_option(f, 1, "0x5e62a5ed1f000");
}

static void put_shift(struct file *f)
{
	put_option(f, 7, "-40");
}

static void put_cycles(struct file *f)
{
	put(f, 2, 14);
	put(f, 4, 16);
	put(f, 4, 3);
	put(f, 4, 1);
	put(f, 8, 0);
}

TEST(a_date_sets_the_realtime_offset)
{
	_cleanup_(file_done) struct file f = { 0 };
	make_version_7(&f, "mono", put_date);
	READ(&f);

	CHECK(r.source->has_realtime);
	CHECK_INT(r.source->realtime_offset, 0x5e62a5ed1f000 * 1000);
	CHECK(r.source->is_monotonic);
	CHECK_INT(r.events.items[0].time, 90);
}

TEST(an_offset_is_added_to_all_times)
{
	_cleanup_(file_done) struct file f = { 0 };
	make_version_7(&f, "mono", put_shift);
	READ(&f);

	CHECK(!r.source->is_monotonic);
	CHECK_INT(r.events.items[0].time, 50);
}

TEST(cycles_are_converted_to_nanoseconds)
{
	_cleanup_(file_done) struct file f = { 0 };
	make_version_7(&f, "mono", put_cycles);
	READ(&f);

	CHECK(!r.source->is_monotonic);
	CHECK_INT(r.events.items[0].time, 135);
}

TEST(a_cycle_of_option_lists_ends)
{
	_cleanup_(file_done) struct file f = { 0 };
	make_version_7(&f, "mono", NULL);
	uint64_t first;

	memcpy(&first, f.bytes.items + 10 + 2 + 6 + 5 + 1, 8);
	set(&f, f.bytes.count - 8, 8, first);
	READ(&f);
	CHECK_INT(r.code, 0);
}

static size_t pack(const char *method, const char *from, size_t size, char *to, size_t room)
{
#ifdef HAVE_ZLIB
	uLongf len = room;

	if (strcmp(method, "zlib") == 0)
		return compress((Bytef *)to, &len, (const Bytef *)from, size) == Z_OK ? len : 0;
#endif
#ifdef HAVE_ZSTD
	if (strcmp(method, "zstd") == 0)
		return ZSTD_compress(to, room, from, size, 1);
#endif
	return 0;
}

/* Reads a file whose first buffer has two compressed chunks, one of them damaged. */
static bool read_packed(const char *method, size_t bad_chunk, struct read *ret)
{
	_cleanup_(file_done) struct file f = { 0 }, pages = { 0 };
	char packed[2 * PAGE];

	struct offsets offsets = make_version_7(&f, "mono", NULL);
	/* instead of "none" */
	memcpy(f.bytes.items + 18, method, 5);

	size_t at = f.bytes.count;
	put(&f, 4, 2);
	for (unsigned i = 0; i < 2; i++) {
		pages.bytes.count = 0;
		size_t page = begin_page(&pages, 1000 * (i + 1));
		put_waking(&pages, 0, 10 + i);
		end_page(&pages, page, 0);
		size_t len = pack(method, pages.bytes.items, PAGE, packed, sizeof(packed));
		if (!len)
			return false;
		put(&f, 4, len);
		put(&f, 4, PAGE);
		packed[0] ^= i == bad_chunk ? 0xff : 0;
		put_bytes(&f, packed, len);
	}
	size_t size = f.bytes.count - at;
	set(&f, offsets.buffer + 32, 8, at);
	set(&f, offsets.buffer + 40, 8, size);
	set(&f, offsets.section + 2, 2, 1);
	*ret = read_file(&f);
	return true;
}

static const char *const methods[] = { "zlib", "zstd" };

TEST(compressed_chunks_are_read)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		_cleanup_(read_done) struct read r = { 0 };

		if (!read_packed(methods[i], SIZE_MAX, &r))
			SKIP("built without zlib or zstd");
		CHECK_INT(r.code, 0);
		CHECK_INT(r.events.count, 3);
		CHECK_INT(r.events.items[0].wake.tid, 2); /* of the other buffer */
		CHECK_INT(r.events.items[1].wake.tid, 10);
		CHECK_INT(r.events.items[2].wake.tid, 11);
		CHECK_INT(r.events.items[2].time, 2000);
	}
}

TEST(a_damaged_chunk_is_a_loss_and_the_next_chunk_is_read)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		_cleanup_(read_done) struct read r = { 0 };

		if (!read_packed(methods[i], 0, &r))
			SKIP("built without zlib or zstd");
		CHECK_INT(r.events.count, 3);
		CHECK_INT(r.events.items[1].kind, RAW_LOST);
		CHECK_INT(r.events.items[2].wake.tid, 11);
		CHECK(r.source->warning);
	}
}

/* Writes `count` equal chunks of `size` bytes. */
static struct offsets put_chunks(struct file *f, size_t size, unsigned count)
{
	struct offsets offsets = make_version_7(f, "mono", NULL);
	char *zeros = must_alloc(size), packed[4096];
	size_t at = f->bytes.count, len = pack("zstd", zeros, size, packed, sizeof(packed));

	free(zeros);
	memcpy(f->bytes.items + 18, "zstd", 5);
	put(f, 4, count);
	for (unsigned i = 0; i < count; i++) {
		put(f, 4, len);
		put(f, 4, size);
		put_bytes(f, packed, len);
	}
	set(f, offsets.buffer + 32, 8, at);
	set(f, offsets.buffer + 40, 8, f->bytes.count - at);
	set(f, offsets.section + 2, 2, 1);
	return offsets;
}

TEST(the_decompressed_size_of_a_file_is_limited)
{
#ifndef HAVE_ZSTD
	SKIP("built without zstd");
#endif
	_cleanup_(file_done) struct file f = { 0 }, g = { 0 };

	put_chunks(&f, 16 << 20, 4);
	READ(&f);
	CHECK_INT(r.code, 0);
	CHECK(!r.source->warning);
	put_chunks(&g, 16 << 20, 5);
	_cleanup_(read_done) struct read over = read_file(&g);
	CHECK_INT(over.code, 0);
	CHECK_STR(over.source->warning ?: "", "the decompressed size of 'x.dat' exceeds the limit "
					      "of 64 MiB; the rest counts as lost");
}

static size_t names_at; /* position of the offset of the thread name section */

static void put_names_offset(struct file *f)
{
	names_at = f->bytes.count + 6;
	put_offset(f, 21, 0);
}

TEST(a_truncated_thread_name_is_ignored)
{
	static const char *const texts[] = { "7 ", "7 <", "7 a", "7", " ", "7 a\n8 " };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		_cleanup_(file_done) struct file f = { 0 };
		struct raw_source *source;
		struct err err;

		make_version_7(&f, "mono", put_names_offset);
		set(&f, names_at, 8, f.bytes.count);
		size_t names = begin_section(&f, 21);
		put_text(&f, 8, texts[i]);
		end_section(&f, names);

		struct view file = { guard(f.bytes.items, f.bytes.count), f.bytes.count };

		CHECK_INT(tracedat_open_memory("x.dat", file, &source, &err), 0);
		CHECK_INT(((struct tracedat *)source)->names.count, strstr(texts[i], "a") != NULL);
		source->free(source);
	}
}

TEST(a_file_truncated_anywhere_yields_events_or_an_error)
{
	_cleanup_(file_done) struct file whole = { 0 };
	make_version_7(&whole, "mono", put_date);

	for (size_t size = 0; size < whole.bytes.count; size++) {
		_cleanup_(file_done) struct file f = { 0 };
		put_bytes(&f, whole.bytes.items, size);
		READ(&f);
		CHECK(r.code == 0 || strncmp(r.err.text, "'x.dat' is ", 11) == 0);
	}
}

TEST(invalid_files_are_refused_with_a_reason)
{
	static const struct {
		const char *bytes, *message;
		size_t size;
	} bad[] = {
		{ "", "'x.dat' is not a trace.dat file (bad magic)", 0 },
		{ "\x17\x08\x44tracing5\0\0\x8",
		  "'x.dat' is a trace.dat file of an unsupported version; sonde reads versions 6 "
		  "and 7",
		  14 },
		{ "\x17\x08\x44tracing6\0\0\x8\0\0\0\0",
		  "'x.dat' is damaged: no valid byte order or page size at byte 18", 18 },
		{ "\x17\x08\x44tracing7\0\0\x8\0\x10\0\0lz4\0\0",
		  "'x.dat' is damaged: no valid offset of the first section at byte 23", 23 },
		{ "\x17\x08\x44tracing7\0\0\x8\0\x10\0\0lz4\0\0\1\0\0\0\0\0\0\0",
		  "cannot unpack 'x.dat': unknown compression method; sonde supports zlib and zstd",
		  31 },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_(file_done) struct file f = { 0 };
		put_bytes(&f, bad[i].bytes, bad[i].size);
		READ(&f);
		CHECK(r.code < 0);
		CHECK_STR(r.err.text, bad[i].message);
	}
}
