/* SPDX-License-Identifier: Apache-2.0 */
#include "read/perf/unpack.h"

#include <errno.h>
#include <string.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

enum { BLOCK_SIZE = 1 << 18 }; /* several times the size of the largest record */

static void free_blocks(uint8_t **blocks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(blocks[i]);
}

void perf_unpack_done(struct perf_unpack *u)
{
#ifdef HAVE_ZSTD
	ZSTD_freeDCtx(u->zstd);
#endif
	free_blocks(u->before.items, u->before.count);
	free_blocks(u->now.items, u->now.count);
	free_blocks(u->unused.items, u->unused.count);
	vec_done(&u->before);
	vec_done(&u->now);
	vec_done(&u->unused);
}

void perf_unpack_begin(struct perf_unpack *u, const void *data, size_t size, uint64_t budget,
		       int level)
{
#ifdef HAVE_ZSTD
	if (!u->zstd) {
		u->zstd = ZSTD_createDCtx();
		if (!u->zstd)
			abort();
		/* limit the memory that damaged data can request to what this level needs */
		ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, level < 20 ? 23 : 27);
	}
#endif
	u->in = data;
	u->in_size = size;
	u->in_at = 0;
	u->budget = budget;
}

/* Starts a block with the unread rest of the last one. */
static void next_block(struct perf_unpack *u)
{
	uint8_t *block =
		u->unused.count ? u->unused.items[--u->unused.count] : must_alloc(BLOCK_SIZE);

	if (u->end > u->begin)
		memcpy(block, u->block + u->begin, u->end - u->begin);
	u->end -= u->begin;
	u->begin = 0;
	u->block = block;
	*vec_push(&u->now) = block;
}

#ifdef HAVE_ZSTD
int perf_unpack_more(struct perf_unpack *u)
{
	if (!u->block || u->end == BLOCK_SIZE)
		next_block(u);

	ZSTD_inBuffer in = { u->in, u->in_size, u->in_at };
	ZSTD_outBuffer out = { u->block + u->end, BLOCK_SIZE - u->end, 0 };
	size_t r = ZSTD_decompressStream(u->zstd, &out, &in);

	if (ZSTD_isError(r))
		return -EBADMSG;
	if (out.pos > u->budget)
		return -EFBIG;
	u->in_at = in.pos;
	u->end += out.pos;
	u->budget -= out.pos;
	/* a full block means that there can be more */
	return in.pos < in.size || out.pos == out.size;
}
#else
int perf_unpack_more(struct perf_unpack *u)
{
	return -EOPNOTSUPP;
}
#endif

void perf_unpack_end_batch(struct perf_unpack *u)
{
	for (size_t i = 0; i < u->before.count; i++)
		*vec_push(&u->unused) = u->before.items[i];
	u->before.count = 0;

	__typeof__(u->before) swap = u->before;

	u->before = u->now;
	u->now = swap;
	/* the unread rest belongs to the next batch */
	if (u->block && u->end > u->begin) {
		next_block(u);
	} else {
		u->block = NULL;
		u->begin = u->end = 0;
	}
}

size_t perf_unpack_memory(const struct perf_unpack *u)
{
	return BLOCK_SIZE * (u->before.count + u->now.count);
}
