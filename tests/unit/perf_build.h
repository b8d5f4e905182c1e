/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_build - builds perf.data files in all variants of the format.
 *
 *	struct perf_build b = { .swap = true, .pipe = true };
 *	perf_build_attr(&b, &(struct build_attr){ .type = 2, .config = 7, .id = 70, ... });
 *	perf_build_format(&b, "sched", "name: sched_waking\nID: 7\n...");
 *	perf_begin(&b, PERF_SAMPLE, 0);
 *	perf_u(&b, 8, 70);
 *	...
 *	perf_end(&b);
 *	struct bytes file = perf_build_finish(&b);
 */
#ifndef SONDE_TESTS_PERF_BUILD_H
#define SONDE_TESTS_PERF_BUILD_H

#include "base/vec.h"
#include "bytes.h"
#include "read/perf/data.h"

struct build_attr {
	uint32_t type;
	uint64_t config, sample, read, flags;
	int32_t clock;
	uint64_t id; /* 0 for none */
	const char *name;
};

typedef VEC(uint8_t) build_bytes;

struct build_format {
	const char *system, *text;
};

struct perf_build {
	bool swap, pipe;
	bool compress; /* compress the records of the kernel */
	size_t chunk;  /* bytes per COMPRESSED record; 0 for one record */
	bool aligned;  /* use COMPRESSED2 */
	const char *host, *machine;
	uint64_t day, clock_now; /* one moment in CLOCK_REALTIME and in the clock, or 0 */
	bool unfinished, in_directory;

	VEC(struct build_attr) attrs;
	VEC(struct build_format) formats;
	build_bytes records;
	build_bytes pending; /* not yet compressed */
	size_t begin;        /* offset of the open record */
	struct ZSTD_CCtx_s *zstd;
};

void perf_build_attr(struct perf_build *b, const struct build_attr *attr);
void perf_build_format(struct perf_build *b, const char *system, const char *text);

/* Append a record: begin, numbers and text, end. */
void perf_begin(struct perf_build *b, uint32_t type, uint16_t misc);
void perf_u(struct perf_build *b, size_t size, uint64_t n);
void perf_text(struct perf_build *b, const char *s, size_t size); /* padded with zeros */
void perf_end(struct perf_build *b);

/* Returns the file and frees the builder. */
struct bytes perf_build_finish(struct perf_build *b);

#endif
