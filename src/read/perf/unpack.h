/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_unpack - records that perf compressed (perf record -z).
 *
 * All COMPRESSED records together are one stream of zstd, in which other records
 * lie, and one of those may be cut between two of these.  They are unpacked into
 * blocks; what is left of a block that is no whole record moves to the next one.
 * Blocks live for two batches: see perf_stream.h.
 */
#ifndef SONDE_READ_PERF_UNPACK_H
#define SONDE_READ_PERF_UNPACK_H

#include "base/vec.h"

struct perf_unpack {
	struct ZSTD_DCtx_s *zstd; /* NULL until it is needed */
	const void *in;
	size_t in_size, in_at;
	uint64_t budget; /* bytes that may still come of it */
	uint8_t *block;
	size_t begin, end;                  /* of what has been unpacked and not taken */
	VEC(uint8_t *) before, now, unused; /* blocks of the last batch, of this one */
};

void perf_unpack_done(struct perf_unpack *u);

/* What comes next; budget is how many bytes it may become.  Borrowed until all is unpacked. */
void perf_unpack_give(struct perf_unpack *u, const void *data, size_t size, uint64_t budget,
		      int level);

/* Unpacks more behind what is there: 1, 0 if that was all, -EBADMSG, -EFBIG beyond the budget,
 * or -EOPNOTSUPP without libzstd. */
int perf_unpack_more(struct perf_unpack *u);

/* A batch was given out, and what is in this one will be with the next. */
void perf_unpack_turn(struct perf_unpack *u);

/* Bytes in its blocks. */
size_t perf_unpack_held(const struct perf_unpack *u);

#endif
