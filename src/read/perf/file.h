/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_file - a perf.data file, and what it says of the events in it.
 *
 * Each event that was asked for is an attribute; the kernel gave it an id for
 * each CPU and thread that it was opened on, and a record carries the id.  So
 * records lead to attributes, those of tracepoints to the kernel's format of
 * them.  What a sample has and where depends on its attribute alone as far as
 * the first variable part, so these places are worked out once.
 */
#ifndef SONDE_READ_PERF_FILE_H
#define SONDE_READ_PERF_FILE_H

#include "base/map.h"
#include "base/vec.h"
#include "read/raw/kernel_formats.h"
#include "read/perf/data.h"

/* Where in a sample things are; 0 if they are not. */
struct perf_layout {
	uint16_t id, tid, time, cpu;
	uint16_t fixed; /* where READ, CALLCHAIN and RAW begin */
	/* In other records: how far from the end. */
	uint16_t end_id, end_tid, end_time, end_cpu, end_size;
};

struct perf_attr {
	uint32_t type;
	int32_t clock; /* as for clock_gettime(), or -1: perf's own */
	uint64_t config, sample, read;
	uint64_t flags;                     /* 1 << enum perf_attr_flag */
	const char *name;                   /* borrowed; NULL if the file does not say */
	const struct kernel_format *format; /* NULL if it is no tracepoint, or of unknown format */
	struct perf_layout layout;
};

/* What the file says of its making; texts borrowed, NULL if it does not say. */
struct perf_about {
	const char *host, *release, *machine, *version;
	char *command;
	uint32_t cpus;
	uint32_t level, ring_size; /* of compression, bytes in a ring at most; or 0 */
	int64_t realtime_offset;
	bool has_realtime;
	bool is_directory; /* its records are in other files */
};

struct perf_file {
	char *name; /* for messages */
	const uint8_t *data;
	size_t size;
	bool mapped;
	bool swap, is_pipe;
	bool is_part;        /* of a directory: it has records of the kernel, and nothing else */
	uint64_t begin, end; /* of its records */
	VEC(struct perf_attr) attrs;
	struct map ids; /* -> index in attrs + 1 */
	struct kernel_formats formats;
	bool has_formats;
	struct perf_about about;
};

/* What came through a pipe has no attributes yet: they are records.  Memory is borrowed. */
int perf_file_open(struct perf_file *file, const char *path, struct err *err);
int perf_file_open_memory(struct perf_file *file, const char *name, const void *data, size_t size,
			  struct err *err);
void perf_file_done(struct perf_file *file);

/* Takes a record of the types ATTR, FEATURE and UPDATE; others, and damaged ones, are passed over.
 */
void perf_file_take(struct perf_file *file, const uint8_t *record, struct perf_record head);

/* Which attribute an id means; NULL if none. */
const struct perf_attr *perf_file_attr(const struct perf_file *file, uint64_t id);

/* Finds the formats of those attributes that are tracepoints. */
void perf_file_bind(struct perf_file *file);

/* perf_feature.c */
void perf_file_feature(struct perf_file *file, uint64_t feature, const uint8_t *data, size_t size);
void perf_file_tracing(struct perf_file *file, const uint8_t *data, size_t size);

#endif
