/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracedat - trace.dat, which trace-cmd records.
 *
 * The file holds the pages of the kernel's ring buffers as they were, one row of
 * pages for each CPU (and for each buffer instance), beside the formats of the
 * events that were recorded and some facts of the machine.  trace-cmd.dat.v6(5)
 * and trace-cmd.dat.v7(5) describe it; version 7 may be packed, in pieces of some
 * pages.  Reading is in four parts: tracedat_file.c finds what is where,
 * tracedat_option.c reads the facts and where the rows are, tracedat_page.c walks
 * the pages, and tracedat.c makes raw events of what it finds there.
 *
 * Why not libtracecmd: for each event it takes 3 times as long, and 8 times if the
 * trace is packed, and that is before any field is decoded; and it does not survive
 * damaged files.  It is what the tests hold this against.
 */
#ifndef SONDE_READ_TRACEDAT_TRACEDAT_H
#define SONDE_READ_TRACEDAT_TRACEDAT_H

#include "base/map.h"
#include "base/vec.h"
#include "read/file/byte_cursor.h"
#include "read/raw/kernel_formats.h"
#include "read/raw/raw.h"
#include "read/file/unpack.h"

/* One CPU's row of pages in one buffer, and where we are in it. */
struct tracedat_row {
	uint32_t order; /* among rows, for events of the same time */
	uint32_t cpu;
	uint32_t page_size;

	struct view pages;         /* not yet walked: in the file, or the piece that is unpacked; */
	struct byte_cursor packed; /* pieces not yet unpacked, */
	uint64_t pieces;           /* and how many */
	char *unpacked;
	size_t room;

	const char *at, *end; /* not yet walked in this page */
	uint64_t clock;       /* the time there, in the clock's own units */

	nsec_t time;      /* of the event that is next, */
	const char *data; /* or NULL: here, events were lost */
	size_t size;
	uint64_t lost; /* so many; 0 if nobody knows */
	nsec_t last;   /* the time of the one before; 0 if there is none */
	bool missing;  /* a loss is to be told before the next event */
};

/* Where a page has what; the kernel says so in the file. */
struct tracedat_page {
	uint32_t commit_size; /* of the number at byte 8 that says how far it is filled */
	uint32_t data_at;
};

struct tracedat {
	struct raw_source source;
	char *path;
	struct view file;
	bool is_mapped; /* and ours to unmap */

	unsigned version;
	bool is_big_endian;
	struct kernel_abi abi;
	uint32_t page_size;
	uint32_t cpu_count;
	struct tracedat_page page;
	struct unpack *unpack; /* NULL if nothing is packed */
	VEC(char *) sections;  /* unpacked */
	uint64_t section_bytes;
	struct kernel_formats formats;
	struct kernel_format *unknown; /* stands for those that the file does not describe */

	char *host, *release;
	struct view clock;    /* by which all events are timed; in the file */
	int64_t offset;       /* to be added to each time */
	uint32_t mult, shift; /* of a clock that counts cycles: ns are cycles * mult >> shift */
	struct map comms;     /* from tid to a struct raw_text */
	VEC(struct raw_text) names;

	VEC(struct tracedat_row) rows;
	uint64_t row_bytes;         /* of the file */
	struct tracedat_row **heap; /* those that have a next event, the earliest first */
	size_t heap_count;
	bool has_begun;
	const struct kernel_format *format; /* of the last event; NULL after a loss */
	const struct tracedat_row *row;
	nsec_t time;
	bool is_damaged;    /* something was left out: damaged, */
	bool is_unknown;    /* of a type that the file does not describe, */
	bool is_two_clocks; /* or a buffer with another clock */
};

enum { MIN_PAGE = 512, MAX_PAGE = 1 << 24 };

bool tracedat_is_one(const char *head, size_t size);

/* Reads all but the pages. */
int tracedat_read_head(struct tracedat *t, struct err *err);

/* The sentence for a file that is not as it should be at some byte. */
int tracedat_damaged(const struct tracedat *t, const char *at, const char *what, struct err *err);

/* The sentence for a file that has a latency tracer's text in place of events. */
int tracedat_is_text(const struct tracedat *t, struct err *err);

/* Where the facts say that other parts are. */
struct tracedat_places {
	uint64_t sections[32];   /* offsets by number; 0 is not told */
	uint64_t next;           /* more facts */
	VEC(uint64_t) instances; /* version 6: more buffers */
};
int tracedat_read_options(struct tracedat *t, struct byte_cursor *c, struct tracedat_places *places,
			  struct err *err);

/* A row of pages that may be packed; what is not in the file is left out. */
void tracedat_add_row(struct tracedat *t, uint32_t cpu, uint32_t page_size, uint64_t offset,
		      uint64_t size, bool is_packed);

/* The next event of a row, or loss; false at the end. */
bool tracedat_row_next(struct tracedat *t, struct tracedat_row *row);

/* A trace that is in memory, which is borrowed; the path is for messages. */
int tracedat_open_memory(const char *path, struct view file, struct raw_source **ret,
			 struct err *err);

#endif
