/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_merge - merges the records of all files of a trace by time.
 *
 * perf record --threads writes a directory: a perf.data file "data" that contains few
 * records, and files data.0, data.1, ..., one per thread of perf, that contain
 * nothing but records.  Each file is sorted by itself (stream.h), so the next record
 * is the earliest of their next records.  Any other trace is a single file.
 */
#ifndef SONDE_READ_PERF_MERGE_H
#define SONDE_READ_PERF_MERGE_H

#include "read/file/file_set.h"
#include "read/perf/stream.h"

struct perf_part {
	struct perf_file file; /* the description of events is borrowed from the first part */
	struct perf_stream stream;
	const uint8_t *record; /* next record; NULL at the end */
	nsec_t time;
};

struct perf_merge {
	VEC(struct perf_part *) parts;
	struct file_set files;  /* of all parts but the first */
	struct perf_part *last; /* part that returned the last record */
	nsec_t now;             /* time of the last record */
};

/* `file` is the first part; perf_merge_add() adds those of a directory. */
void perf_merge_init(struct perf_merge *merge, struct perf_file *file);
int perf_merge_add(struct perf_merge *merge, const char *directory, struct err *err);
void perf_merge_done(struct perf_merge *merge);

/* Like perf_stream_next(). */
const uint8_t *perf_merge_next(struct perf_merge *merge, nsec_t *ret_time);

#endif
