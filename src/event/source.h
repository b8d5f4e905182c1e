/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source - the origin of records: their strings, their host, and how their clock
 * maps to the common clock.
 *
 * The clocks of two hosts have an offset and a drift.  So times are mapped to the
 * common clock by a linear function.  It uses integers only and is monotonic: it
 * never swaps two times of one source.
 */
#ifndef SONDE_EVENT_SOURCE_H
#define SONDE_EVENT_SOURCE_H

#include "base/base.h"

/* The unit of source.drift is 2^-48 ns per ns. */
enum { SOURCE_DRIFT_BITS = 48 };
/* The largest plausible drift: one in a thousand. */
#define SOURCE_DRIFT_MAX (((int64_t)1 << SOURCE_DRIFT_BITS) / 1000)

struct source {
	const char *(*get_string)(const void *arg, uint32_t id); /* "" if unknown */
	const void *arg;                                         /* borrowed */
	uint16_t host;  /* index from 0; scope of tids and pids */
	uint16_t input; /* index from 0; scope of the ids of stacks, frames and probe types */
	uint16_t group; /* hosts whose times can be compared have the same group */
	int64_t shift;  /* offset to the common clock at `origin`, ns */
	int64_t drift;  /* change of the offset per ns, in 2^-48 ns */
	int64_t origin; /* on the source's own clock, ns */
	const char *host_name; /* host named by the last span; NULL or "" if none */
	bool has_host_clock;   /* whether the last span's clock is known to be its host's clock */
};

/* The part of the offset due to drift; not inline, as most sources have none. */
__attribute__((noinline, unused)) static nsec_t source_drifted(const struct source *source,
							       nsec_t t)
{
	/* times from a file are unchecked; the difference can wrap, just as the sum below */
	int64_t since = t - (uint64_t)source->origin;

	return (uint64_t)(int64_t)((__int128)since * source->drift >> SOURCE_DRIFT_BITS);
}

/* A time of the source on the common clock. */
static inline nsec_t source_time(const struct source *source, nsec_t t)
{
	nsec_t shifted = t + (uint64_t)source->shift;

	return __builtin_expect(!source->drift, 1) ? shifted : shifted + source_drifted(source, t);
}

#endif
