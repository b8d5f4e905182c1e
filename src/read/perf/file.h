/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_file - opens a perf.data file and reads the description of its events.
 *
 * Each requested event is an attribute.  The kernel assigns it an id for each CPU and
 * thread on which it is opened, and records contain that id.  So an id leads to an
 * attribute, and the attribute of a tracepoint to its format.  The offsets of the
 * fields of a sample, up to the first one of variable size, depend only on the
 * attribute and are computed once.
 */
#ifndef SONDE_READ_PERF_FILE_H
#define SONDE_READ_PERF_FILE_H

#include "base/map.h"
#include "base/vec.h"
#include "read/raw/kernel_formats.h"
#include "read/perf/data.h"

/* Offsets in a sample; 0 if absent. */
struct perf_layout {
	uint16_t id, tid, time, cpu;
	uint16_t fixed; /* start of READ, CALLCHAIN and RAW */
	/* In the trailer of other records: distance from the end. */
	uint16_t trailer_id, trailer_tid, trailer_time, trailer_cpu, trailer_size;
};

struct perf_attr {
	uint32_t type;
	int32_t clock; /* clockid_t, or -1 for perf's default clock */
	uint64_t config, sample, read;
	uint64_t flags;                     /* 1 << enum perf_attr_flag */
	const char *name;                   /* borrowed; NULL if unknown */
	const struct kernel_format *format; /* NULL if not a tracepoint, or of unknown format */
	struct perf_layout layout;
};

/* How the file was recorded; texts are borrowed, NULL if unknown. */
struct perf_about {
	const char *host, *release, *machine, *version;
	char *command;
	uint32_t cpus;
	uint32_t level, ring_size; /* compression level, size of a ring in bytes; 0 if unknown */
	int64_t realtime_offset;
	bool has_realtime;
	bool is_directory; /* the records are in other files */
};

struct perf_file {
	char *name; /* for messages */
	const uint8_t *data;
	size_t size;
	bool mapped;
	bool swap, is_pipe;
	bool is_part;        /* part of a directory: contains only records of the kernel */
	uint64_t begin, end; /* offsets of the records */
	VEC(struct perf_attr) attrs;
	struct map ids; /* -> index in attrs + 1 */
	struct kernel_formats formats;
	bool has_formats;
	struct perf_about about;
};

/* The attributes of a pipe are records, and not read yet.  Memory is borrowed. */
int perf_file_open(struct perf_file *file, const char *path, struct err *err);
int perf_file_open_memory(struct perf_file *file, const char *name, const void *data, size_t size,
			  struct err *err);
void perf_file_done(struct perf_file *file);

/* Reads an ATTR, FEATURE or UPDATE record; ignores other and damaged records. */
void perf_file_add_record(struct perf_file *file, const uint8_t *record, struct perf_record head);

/* The attribute of an id; NULL if unknown. */
const struct perf_attr *perf_file_attr(const struct perf_file *file, uint64_t id);

/* Finds the formats of all tracepoints. */
void perf_file_bind(struct perf_file *file);

/* feature.c */
void perf_file_add_feature(struct perf_file *file, uint64_t feature, const uint8_t *data,
			   size_t size);
void perf_file_add_tracing(struct perf_file *file, const uint8_t *data, size_t size);

#endif
