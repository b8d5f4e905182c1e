/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_stream - the records of a perf.data file, sorted by time.
 *
 * perf reads the kernel's rings in turn and writes their contents, so records of one
 * CPU are adjacent.  After reading all rings once it writes a ROUND.  The records of a
 * round are newer than all records of the round before the previous one; otherwise
 * they would have been in a ring at that time.  So the stream collects records until a
 * round ends, sorts them, and returns those that are not newer than the previous
 * round.
 *
 * A round can have only a few records, so several rounds form a batch, and the rule
 * applies to batches.  This is cheaper and tolerates records that arrive later than
 * they should.  Even later records are returned with the time of their predecessor
 * and counted.
 *
 * Sorting moves pairs of a time and a pointer.  The records stay in the mapped file, or
 * in the blocks into which they were decompressed, which are reused after the batch.
 */
#ifndef SONDE_READ_PERF_STREAM_H
#define SONDE_READ_PERF_STREAM_H

#include "read/perf/file.h"
#include "read/perf/unpack.h"

struct perf_entry {
	uint64_t time; /* 0 for synthesized records */
	const uint8_t *record;
};

struct perf_stream {
	struct perf_file *file; /* borrowed */
	uint64_t at;            /* offset of the next record in the file */
	bool ended;
	char *damage; /* reason for a premature end; NULL if none */

	VEC(struct perf_entry) entries;
	struct perf_entry *spare; /* scratch space for sorting */
	size_t spare_room;
	size_t ready, emitted; /* number of entries that can be returned, and that have been */
	size_t batch;          /* index of the first entry of this batch */
	uint64_t newest;       /* latest time so far */
	uint64_t limit;        /* latest time of the previous batch */
	uint64_t now;          /* time of the last returned record */

	uint16_t time_at; /* offset of the time in all samples; 0 if it differs */
	size_t attrs;     /* number of attributes that time_at is valid for */
	struct perf_unpack unpack;
	uint64_t unpack_left; /* remaining limit for decompressed bytes */

	uint64_t unknown, late; /* records without a time, and records out of order */
	bool has_samples;       /* a sample has been read */
	bool is_partial;        /* only some processes were recorded */
};

/* Reads up to the first sample; the attributes of a pipe come before it. */
void perf_stream_init(struct perf_stream *stream, struct perf_file *file);
void perf_stream_done(struct perf_stream *stream);

/*
 * The next record and its time; NULL at the end.  The record is complete and valid
 * until the next call.
 */
const uint8_t *perf_stream_next(struct perf_stream *stream, nsec_t *ret_time);

/* The attribute of a sample, or of another record by its trailer; NULL if unknown. */
const struct perf_attr *perf_sample_attr(const struct perf_file *file, const uint8_t *record,
					 size_t size);
const struct perf_attr *perf_trailer_attr(const struct perf_file *file, const uint8_t *record,
					  size_t size);

/* Stable sort by time; spare has room for count entries. */
void perf_sort(struct perf_entry *entries, size_t count, struct perf_entry *spare);

#endif
