/* SPDX-License-Identifier: Apache-2.0 */
/* input_internal - the base of all inputs, and the formats; for the files of read/ only. */
#ifndef SONDE_READ_INPUT_INTERNAL_H
#define SONDE_READ_INPUT_INTERNAL_H

#include "base/view.h"
#include "read/input.h"

/* The first member of each format's own struct. */
struct input {
	const struct input_format *format;
	char *path;             /* as passed to input_open(), which sets it */
	char *content;          /* path under which its content was opened; NULL if the same */
	struct input_host host; /* name is NULL for inputs with spans */
	int64_t realtime_offset;
	bool has_realtime;       /* realtime_offset is known */
	bool is_monotonic;       /* the clock is CLOCK_MONOTONIC of the host */
	bool is_timeless;        /* all records have time 0; see input_is_timeless() */
	nsec_t start;            /* of the recording; 0 if unknown */
	const char *record_host; /* of the last record; borrowed; NULL if unknown */
	struct input_meta meta;
	char *warning;
	uint64_t events;        /* read so far */
	struct raw_source *raw; /* NULL unless this is a kernel trace of another tool */
};

extern const struct input_format sonde_format, otlp_format, otlp_json_format, zipkin_format,
	jaeger_format, ftrace_format, ctf_format, bpftrace_format, bpftrace_meta_format,
	tracedat_format, perf_format;

/* As open, for bytes in memory, which are not used after the call.  Messages contain the name. */
typedef int open_memory_fn(const char *name, const char *data, size_t size, struct input **ret,
			   struct err *err);
open_memory_fn otlp_open_memory, otlp_json_open_memory, zipkin_open_memory, jaeger_open_memory;

/* The same, but the input borrows the bytes until it is freed. */
open_memory_fn perf_open_memory, ftrace_open_memory, bpftrace_meta_open_memory;
/* containers: the text of a bpftrace-meta file, or empty. */
int bpftrace_open_memory(const char *name, const char *data, size_t size, struct view containers,
			 struct input **ret, struct err *err);

#endif
