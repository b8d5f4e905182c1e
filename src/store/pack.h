/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack - the intervals, runs and traits of a sample as bytes; sonde-baseline(5) documents them.
 *
 * A number is LEB128: seven bits per byte, the lowest first, and the highest bit set in all bytes
 * but the last.  Most times of an interval are 0 and take one byte.
 */
#ifndef SONDE_STORE_PACK_H
#define SONDE_STORE_PACK_H

#include "base/vec.h"
#include "base/view.h"
#include "diagnose/kept_span.h"

typedef VEC(uint8_t) packed_bytes;

/* Replaces what was in both. */
void pack_states(const struct kept_span *sample, packed_bytes *ret_intervals,
		 packed_bytes *ret_runs);

/*
 * Sets the intervals and runs of a sample, in memory of the arena.  Returns NULL, or why the bytes
 * are invalid.  The sum of all times is at most INT64_MAX.
 */
const char *unpack_states(struct view intervals, struct view runs, struct arena *arena,
			  struct kept_span *ret);

/* The same for the traits of a sample. */
void pack_traits(const struct kept_span *sample, packed_bytes *ret);
const char *unpack_traits(struct view bytes, struct arena *arena, struct kept_span *ret);

#endif
