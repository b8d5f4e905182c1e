/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_unpack - decompresses records (perf record -z).
 *
 * The COMPRESSED records of a file form one zstd stream that contains other records;
 * a contained record can span two COMPRESSED records.  Data is decompressed into
 * blocks; an incomplete record at the end of a block moves to the next block.
 * Blocks live for two batches, see stream.h.
 */
#ifndef SONDE_READ_PERF_UNPACK_H
#define SONDE_READ_PERF_UNPACK_H

#include "base/vec.h"

struct perf_unpack {
	struct ZSTD_DCtx_s *zstd; /* NULL until first used */
	const void *in;
	size_t in_size, in_at;
	uint64_t budget; /* remaining limit for decompressed bytes */
	uint8_t *block;
	size_t begin, end; /* range of decompressed, unread bytes in block */
	VEC(uint8_t *)
	before, now, unused; /* blocks of the previous batch, of this one, and free ones */
};

void perf_unpack_done(struct perf_unpack *u);

/* Starts decompressing data, to at most budget bytes.  Data is borrowed until the end. */
void perf_unpack_begin(struct perf_unpack *u, const void *data, size_t size, uint64_t budget,
		       int level);

/*
 * Appends decompressed data to the block.  Returns 1 if there is more, 0 at the end,
 * -EBADMSG, -EFBIG above the budget, or -EOPNOTSUPP without libzstd.
 */
int perf_unpack_more(struct perf_unpack *u);

/* Ends a batch: frees the blocks of the previous one. */
void perf_unpack_end_batch(struct perf_unpack *u);

/* Memory used by the blocks in use, in bytes. */
size_t perf_unpack_memory(const struct perf_unpack *u);

#endif
