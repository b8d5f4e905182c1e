/* SPDX-License-Identifier: Apache-2.0 */
/* tracedat_build - builds trace.dat files of either byte order, byte by byte. */
#ifndef SONDE_TESTS_TRACEDAT_BUILD_H
#define SONDE_TESTS_TRACEDAT_BUILD_H

#include "base/vec.h"
#include "read/tracedat/tracedat.h"
#include "test.h"

struct file {
	VEC(char) bytes;
	bool big;
};

static inline void file_done(struct file *f)
{
	vec_done(&f->bytes);
}

static inline void put_bytes(struct file *f, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		*vec_push(&f->bytes) = ((const char *)bytes)[i];
}

static inline void put(struct file *f, size_t size, uint64_t n)
{
	for (size_t i = 0; i < size; i++)
		*vec_push(&f->bytes) = n >> 8 * (f->big ? size - 1 - i : i);
}

static inline void put_string(struct file *f, const char *s)
{
	put_bytes(f, s, strlen(s) + 1);
}

static inline void put_text(struct file *f, size_t size, const char *s)
{
	put(f, size, strlen(s));
	put_bytes(f, s, strlen(s));
}

/* Overwrites a number that was unknown until now. */
static inline void set(struct file *f, size_t at, size_t size, uint64_t n)
{
	for (size_t i = 0; i < size; i++)
		f->bytes.items[at + i] = n >> 8 * (f->big ? size - 1 - i : i);
}

enum { PAGE = 512, WAKING = 5 };

static const char page_format[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				  "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				  "\tfield: char data;\toffset:16;\tsize:496;\tsigned:0;\n";
static const char waking_format[] =
	"name: sched_waking\nID: 5\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n";

static inline void put_begin(struct file *f, const char *version)
{
	put_bytes(f, "\x17\x08\x44tracing", 10);
	put_string(f, version);
	put(f, 1, f->big);
	put(f, 1, 8);
	put(f, 4, PAGE);
}

static inline void put_header_info(struct file *f)
{
	put_string(f, "header_page");
	put_text(f, 8, page_format);
	put_string(f, "header_event");
	put_text(f, 8, "");
}

static inline void put_systems(struct file *f)
{
	put(f, 4, 1);
	put_string(f, "sched");
	put(f, 4, 1);
	put_text(f, 8, waking_format);
}

static inline void put_option(struct file *f, unsigned id, const char *text)
{
	put(f, 2, id);
	put(f, 4, strlen(text) + 1);
	put_string(f, text);
}

/* Writes everything before the pages; put_ring() fills in the table of CPUs. */
static inline size_t begin_file(struct file *f, unsigned cpus)
{
	put_begin(f, "6");
	put_header_info(f);
	put(f, 4, 0); /* formats of ftrace */
	put_systems(f);
	put(f, 4, 0); /* symbols */
	put(f, 4, 0); /* printk */
	put_text(f, 8, "41 nginx: worker\n42 <...>\n");
	put(f, 4, cpus);
	put_string(f, "options  ");
	put_option(f, 4, "local global [mono] boot");
	put_option(f, 5, "Linux pluto 6.1.0 x86_64");
	put(f, 2, 0);
	put_string(f, "flyrecord");

	size_t table = f->bytes.count;

	for (unsigned i = 0; i < 16 * cpus; i++)
		put(f, 1, 0);
	return table;
}

static inline size_t begin_page(struct file *f, uint64_t time)
{
	size_t at = f->bytes.count;

	put(f, 8, time);
	put(f, 8, 0);
	return at;
}

static inline void end_page(struct file *f, size_t at, uint64_t flags)
{
	set(f, at + 8, 8, (f->bytes.count - at - 16) | flags);
	if (flags & 1u << 30)
		put(f, 8, 77); /* number of lost events */
	while (f->bytes.count < at + PAGE)
		put(f, 1, 0xee);
}

static inline void put_event_header(struct file *f, unsigned type, unsigned delta)
{
	put(f, 4, f->big ? type << 27 | delta : delta << 5 | type);
}

/* Thread 41 wakes pid. */
static inline void put_waking(struct file *f, unsigned delta, unsigned pid)
{
	put_event_header(f, 3, delta);
	put(f, 2, WAKING);
	put(f, 2, 0);
	put(f, 4, 41);
	put(f, 4, pid);
}

static inline void set_ring(struct file *f, size_t table, unsigned cpu, size_t from)
{
	set(f, table + 16 * cpu, 8, from);
	set(f, table + 16 * cpu + 8, 8, f->bytes.count - from);
}

/* Writes a ring of one page with one wakeup per time, of consecutive pids. */
static inline void put_ring(struct file *f, size_t table, unsigned cpu, const unsigned *times,
			    size_t count, unsigned pid)
{
	size_t page = begin_page(f, times[0]);

	for (size_t i = 0; i < count; i++)
		put_waking(f, times[i] - times[i ? i - 1 : 0], pid + i);
	end_page(f, page, 0);
	set_ring(f, table, cpu, page);
}

struct read {
	struct raw_source *source;
	VEC(struct raw_event) events;
	struct err err;
	int code;
};

static inline void read_done(struct read *r)
{
	if (r->source)
		r->source->free(r->source);
	vec_done(&r->events);
}

static inline struct read read_file(const struct file *f)
{
	struct view file = { f->bytes.items, f->bytes.count };
	struct read r = { 0 };
	struct raw_event e;

	r.code = tracedat_open_memory("x.dat", file, &r.source, &r.err);
	while (r.code == 0 && r.source->next(r.source, &e, &r.err) > 0)
		*vec_push(&r.events) = e;
	return r;
}

#define READ(f) _cleanup_(read_done) struct read r = read_file(f)

#endif
