/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_fixture - builds perf.data files like those of perf record -a, with one
 * tracepoint, and reads them as text: "11@1 30 waking:7" means that thread 11 on CPU 1
 * wakes thread 7 at time 30.
 *
 * The pid of a thread is its tid rounded down to a multiple of 10; below 10, the tid.
 */
#ifndef SONDE_TESTS_PERF_FIXTURE_H
#define SONDE_TESTS_PERF_FIXTURE_H

#include <stdio.h>

#include "perf_build.h"
#include "read/input_internal.h"
#include "read/raw/raw.h"
#include "test.h"

enum {
	WAKING = 7,
	SWITCH = 8
}; /* tracepoint numbers; the id of an event is ten times its number */

#define COMMON_FIELDS \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n" \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

extern const char waking_format[];

enum {
	DEFAULT_SAMPLE = PERF_HAS_IDENTIFIER | PERF_HAS_IP | PERF_HAS_TID | PERF_HAS_TIME |
			 PERF_HAS_CPU | PERF_HAS_PERIOD | PERF_HAS_RAW,
	DEFAULT_FLAGS = 1 << PERF_ATTR_COMM | 1 << PERF_ATTR_TASK | 1 << PERF_ATTR_ID_ALL,
};

void begin_default(struct perf_build *b);

/* A sample up to its data; the data of WAKING; a complete WAKING record. */
void begin_sample(struct perf_build *b, uint64_t id, uint32_t cpu, uint32_t tid, uint64_t time);
void put_waking(struct perf_build *b, uint32_t tid, uint32_t woken);
void waking(struct perf_build *b, uint32_t cpu, uint32_t tid, uint64_t time, uint32_t woken);

/* Ends a record other than a sample with its trailer. */
void end_other(struct perf_build *b, uint32_t cpu, uint32_t tid, uint64_t time);
void comm(struct perf_build *b, uint32_t tid, const char *name, uint64_t time);
/* FORK or EXIT. */
void fork_or_exit(struct perf_build *b, uint32_t type, uint32_t tid, uint32_t parent,
		  uint64_t time);
void round_ends(struct perf_build *b);

struct result {
	struct bytes file;
	struct input *input;
	struct raw_source *raw;
	struct err err;
	int code;
	char text[4096];
};

/* Takes ownership of the file. */
struct result read_bytes(struct bytes file);
struct result read_built(struct perf_build *b);
void result_done(struct result *r);

#define CHECK_HAS(text, part) \
	do { \
		const char *t_ = (text); \
		if (!t_ || !strstr(t_, part)) { \
			test_failures++; \
			printf("# %s:%d: \"%s\" does not contain \"%s\"\n", __FILE__, __LINE__, \
			       t_ ?: "", part); \
		} \
	} while (0)

#endif
