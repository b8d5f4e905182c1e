/* SPDX-License-Identifier: Apache-2.0 */
/* input_parts - what the files of read/ share with each other and nobody else. */
#ifndef SONDE_READ_INPUT_INTERNAL_H
#define SONDE_READ_INPUT_INTERNAL_H

#include "base/view.h"
#include "read/input.h"

/* Each format has a struct of its own that begins with this. */
struct input {
	const struct input_format *format;
	char *path;             /* as the user gave it; input_open() sets it */
	struct input_host host; /* its name is NULL for a foreign trace */
	int64_t realtime_offset;
	bool has_realtime;       /* the trace says what that is */
	bool is_monotonic;       /* its clock is CLOCK_MONOTONIC of its host */
	bool is_timeless;        /* its records, all at 0, belong to the begin of the others */
	nsec_t start;            /* of a capture: when recording began; else 0 */
	const char *record_host; /* borrowed; NULL if it does not say */
	struct input_meta meta;
	char *warning;
	uint64_t events;        /* of the source, read so far */
	struct raw_source *raw; /* NULL if it is no foreign kernel trace */
};

extern const struct input_format sonde_format, otlp_format, otlp_json_format, zipkin_format,
	jaeger_format, ftrace_format, ctf_format, bpftrace_format, bpftrace_meta_format,
	tracedat_format, perf_format;

/* The same as their open, for bytes in memory, which are read at once; the name is for messages. */
typedef int open_memory_fn(const char *name, const char *data, size_t size, struct input **ret,
			   struct err *err);
open_memory_fn otlp_open_memory, otlp_json_open_memory, zipkin_open_memory, jaeger_open_memory;

/* The same, but the bytes are borrowed as long as the input is there. */
int perf_open_memory(const char *name, const char *data, size_t size, struct input **ret,
		     struct err *err);
int ftrace_open_memory(const char *name, const char *data, size_t size, struct input **ret,
		       struct err *err);
int bpftrace_open_memory(const char *name, const char *data, size_t size, struct view list,
			 struct input **ret, struct err *err);
int bpftrace_meta_open_memory(const char *name, const char *data, size_t size, struct input **ret,
			      struct err *err);

#endif
