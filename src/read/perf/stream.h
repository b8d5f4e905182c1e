/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_stream - the records of a perf.data file in the order of time.
 *
 * perf reads the kernel's rings one after the other and writes what it finds, so
 * that records of one CPU stand together.  After each time around it writes a
 * ROUND.  What a round has is not older than what the round before the last had,
 * for it was in no ring then.  So records are collected until a round ends,
 * sorted, and those are given out that are not newer than the round before.
 *
 * Rounds may be as small as a few records, so several make a batch, and for
 * "round" above read "batch": that costs less, and forgives records that come
 * later than they should.  What is later still is given out late, with the time
 * of what was before it, and counted.
 *
 * Sorting moves pairs of a time and a pointer.  Records stay where they are: in
 * the file as it is mapped, or in the blocks into which they were unpacked,
 * which are used again when the batch has been given out.
 */
#ifndef SONDE_READ_PERF_STREAM_H
#define SONDE_READ_PERF_STREAM_H

#include "read/perf/file.h"
#include "read/perf/unpack.h"

struct perf_entry {
	uint64_t time; /* 0 of what was made up when recording began */
	const uint8_t *record;
};

struct perf_stream {
	struct perf_file *file; /* borrowed */
	uint64_t at;            /* of the next record, in the file */
	bool ended;
	char *damage; /* why it ended before its time; NULL if it did not */

	VEC(struct perf_entry) entries;
	struct perf_entry *spare; /* for sorting */
	size_t spare_room;
	size_t ready, given; /* entries that may be given out, that are */
	size_t batch;        /* where this batch begins */
	uint64_t newest;     /* time so far, */
	uint64_t limit;      /* and when the last batch ended */
	uint64_t now;        /* time of what was given out last */

	uint16_t time_at; /* where all samples have their time; 0 if they differ */
	size_t attrs;     /* that it was worked out from */
	struct perf_unpack unpack;
	uint64_t unpack_left; /* bytes that may still come out of compressed records */

	uint64_t unknown, late; /* records: without a time, or later than they should be */
	bool has_samples;       /* one was seen so far */
	bool is_partial;        /* only some processes were recorded */
};

/* Reads up to the first sample, by which all that a pipe has of attributes should be there. */
void perf_stream_init(struct perf_stream *stream, struct perf_file *file);
void perf_stream_done(struct perf_stream *stream);

/*
 * The next record, which is whole and holds until the next call, and its time;
 * NULL at the end.
 */
const uint8_t *perf_stream_next(struct perf_stream *stream, nsec_t *ret_time);

/* The attribute of a sample, of another record; NULL if it is of none. */
const struct perf_attr *perf_sample_attr(const struct perf_file *file, const uint8_t *record,
					 size_t size);
const struct perf_attr *perf_end_attr(const struct perf_file *file, const uint8_t *record,
				      size_t size);

/* Sorts by time; what is equal stays as it is.  The spare has room for as many. */
void perf_sort(struct perf_entry *entries, size_t count, struct perf_entry *spare);

#endif
