/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_usual - a perf.data file as perf record -a makes it, with one tracepoint,
 * and what is read from it in words: "11@1 30 waking:7" is thread 11 on CPU 1 at
 * time 30, which wakes thread 7.
 *
 * Processes have numbers that end in 0, but those below 10.
 */
#ifndef SONDE_TESTS_PERF_USUAL_H
#define SONDE_TESTS_PERF_USUAL_H

#include <stdio.h>

#include "perf_build.h"
#include "read/input_internal.h"
#include "read/raw/raw.h"
#include "test.h"

enum { WAKING = 7, SWITCH = 8 }; /* numbers of tracepoints; ten times that are ids */

#define COMMON_FIELDS \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

extern const char waking_format[];

enum {
	USUAL_SAMPLE = PERF_HAS_IDENTIFIER | PERF_HAS_IP | PERF_HAS_TID | PERF_HAS_TIME |
		       PERF_HAS_CPU | PERF_HAS_PERIOD | PERF_HAS_RAW,
	USUAL_FLAGS = 1 << PERF_ATTR_COMM | 1 << PERF_ATTR_TASK | 1 << PERF_ATTR_ID_ALL,
};

void begin_usual(struct perf_build *b);

/* The fields of a usual sample up to its data; the data of WAKING; both, as a record. */
void begin_sample(struct perf_build *b, uint64_t id, uint32_t cpu, uint32_t tid, uint64_t time);
void put_waking(struct perf_build *b, uint32_t tid, uint32_t woken);
void waking(struct perf_build *b, uint32_t cpu, uint32_t tid, uint64_t time, uint32_t woken);

/* What records other than samples end with, and the end. */
void end_other(struct perf_build *b, uint32_t cpu, uint32_t tid, uint64_t time);
void comm(struct perf_build *b, uint32_t tid, const char *name, uint64_t time);
/* FORK or EXIT. */
void life(struct perf_build *b, uint32_t type, uint32_t tid, uint32_t parent, uint64_t time);
void round_ends(struct perf_build *b);

struct result {
	struct bytes file;
	struct input *input;
	struct raw_source *raw;
	struct err err;
	int code;
	char text[4096];
};

/* Takes the bytes. */
struct result read_bytes(struct bytes file);
struct result read_built(struct perf_build *b);
void result_done(struct result *r);

#define CHECK_HAS(text, part) \
	do { \
		const char *t_ = (text); \
		if (!t_ || !strstr(t_, part)) { \
			test_failures++; \
			printf("# %s:%d: \"%s\" has no \"%s\"\n", __FILE__, __LINE__, t_ ?: "", \
			       part); \
		} \
	} while (0)

#endif
