/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_merge - the records of all files of a trace in the order of time.
 *
 * perf record --threads writes a directory: a file "data", which is as any
 * perf.data but for most records, and these in files data.0, data.1 and so on,
 * one for each thread of perf, that have nothing else.  Each has its own order
 * (perf_stream.h), so the next record of all is the earliest of their next ones.
 * Any other trace is the first file alone.
 */
#ifndef SONDE_READ_PERF_MERGE_H
#define SONDE_READ_PERF_MERGE_H

#include "read/file/file_set.h"
#include "read/perf/stream.h"

struct perf_part {
	struct perf_file file; /* what it says of events is borrowed from the first */
	struct perf_stream stream;
	const uint8_t *record; /* that comes next; NULL behind the last */
	nsec_t time;
};

struct perf_merge {
	VEC(struct perf_part *) parts;
	struct file_set files;  /* that the parts are in, but for the first */
	struct perf_part *last; /* of which a record was given out */
	nsec_t now;             /* its time */
};

/* That file is the first part; those of a directory are added, if there is one. */
void perf_merge_init(struct perf_merge *merge, struct perf_file *file);
int perf_merge_add(struct perf_merge *merge, const char *directory, struct err *err);
void perf_merge_done(struct perf_merge *merge);

/* As perf_stream_next(). */
const uint8_t *perf_merge_next(struct perf_merge *merge, nsec_t *ret_time);

#endif
