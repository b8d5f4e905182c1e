/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracedat - reads trace.dat files of trace-cmd.
 *
 * The file contains the raw pages of the kernel's ring buffers, one ring per CPU and
 * buffer instance, the formats of the recorded events, and options, which describe
 * the host and the recording.  See trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5);
 * version 7 can be compressed, in chunks of several pages.  file.c reads the header
 * and sections, option.c the options and the positions of the rings, page.c the pages,
 * and tracedat.c merges the rings and decodes the events.
 *
 * libtracecmd needs 3 times as long per event, 8 times if the trace is compressed,
 * without decoding any field, and crashes on damaged files.  The tests compare the
 * results of this reader with those of libtracecmd.
 */
#ifndef SONDE_READ_TRACEDAT_TRACEDAT_H
#define SONDE_READ_TRACEDAT_TRACEDAT_H

#include "base/map.h"
#include "base/vec.h"
#include "read/file/byte_cursor.h"
#include "read/raw/kernel_formats.h"
#include "read/raw/raw.h"
#include "read/file/unpack.h"

/* The pages of one CPU in one buffer, and the read position. */
struct tracedat_ring {
	uint32_t order; /* index of the ring, for events of the same time */
	uint32_t cpu;
	uint32_t page_size;

	struct view pages;             /* unread pages, in the file or in the decompressed chunk */
	struct byte_cursor compressed; /* unread compressed chunks */
	uint64_t chunks;               /* number of unread chunks */
	char *decompressed;
	size_t decompressed_room;

	const char *at, *end; /* unread part of the page */
	uint64_t clock;       /* time at this position, in units of the clock */

	nsec_t time;      /* time of the next event */
	const char *data; /* its data; NULL for a loss */
	size_t size;
	uint64_t lost; /* number of lost events; 0 if unknown */
	nsec_t last;   /* time of the previous event; 0 if none */
	bool missing;  /* report a loss before the next event */
};

/* The layout of a page header, from the description in the file. */
struct tracedat_page {
	uint32_t commit_size; /* size of `commit` at byte 8, the number of bytes used */
	uint32_t data_at;
};

struct tracedat {
	struct raw_source source;
	char *path;
	struct view file;
	bool is_mapped; /* unmap on free */

	unsigned version;
	bool is_big_endian;
	struct kernel_abi abi;
	uint32_t page_size;
	uint32_t cpu_count;
	struct tracedat_page page;
	struct unpack *unpack; /* NULL if the file is not compressed */
	VEC(char *) sections;  /* decompressed sections */
	uint64_t section_bytes;
	struct kernel_formats formats;
	struct kernel_format *unknown; /* replaces formats that the file does not contain */

	char *host, *release;
	struct view clock;    /* clock of all events; points into the file */
	int64_t offset;       /* added to each time */
	uint32_t mult, shift; /* cycle clocks: ns = cycles * mult >> shift */
	struct map comms;     /* tid -> index in names + 1 */
	VEC(struct raw_text) names;

	VEC(struct tracedat_ring) rings;
	uint64_t ring_bytes;         /* total size of the rings in the file */
	struct tracedat_ring **heap; /* rings with a next event, earliest first */
	size_t heap_count;
	bool has_begun;
	const struct kernel_format *format; /* format of the last event; NULL after a loss */
	const struct tracedat_ring *ring;
	nsec_t time;
	bool is_damaged;     /* skipped damaged data */
	bool has_unknown;    /* contains events of unknown format */
	bool has_two_clocks; /* skipped a buffer with another clock */
};

enum { TRACEDAT_MIN_PAGE = 512, TRACEDAT_MAX_PAGE = 1 << 24 };

bool tracedat_has_magic(const char *head, size_t size);

/* Reads everything except the pages. */
int tracedat_read_head(struct tracedat *t, struct err *err);

/* Fails with "damaged" at a position; what names the missing part. */
int tracedat_fail_damaged(const struct tracedat *t, const char *at, const char *what,
			  struct err *err);

/* Fails for a file with the text of a latency tracer instead of events. */
int tracedat_fail_text(const struct tracedat *t, struct err *err);

/* File offsets of other parts, from the options. */
struct tracedat_offsets {
	uint64_t sections[32];   /* by section id; 0 if absent */
	uint64_t next;           /* next list of options */
	VEC(uint64_t) instances; /* version 6: other buffers */
};
int tracedat_read_options(struct tracedat *t, struct byte_cursor *c,
			  struct tracedat_offsets *offsets, struct err *err);

/* Adds a ring; the part beyond the end of the file is ignored. */
void tracedat_add_ring(struct tracedat *t, uint32_t cpu, uint32_t page_size, uint64_t offset,
		       uint64_t size, bool is_compressed);

/* Moves to the next event or loss of a ring; false at the end. */
bool tracedat_ring_next(struct tracedat *t, struct tracedat_ring *ring);

/* Opens a trace in memory, which is borrowed; path is for messages. */
int tracedat_open_memory(const char *path, struct view file, struct raw_source **ret,
			 struct err *err);

#endif
