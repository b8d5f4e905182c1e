/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source - where records come from: how to read their strings, whose they are,
 * and how their clock relates to the one that all are shown on.
 *
 * Clocks of different machines do not only differ, they also run at different
 * speeds.  So times are shifted by a line: by so much at one moment, and by
 * more or less before and after it.  The arithmetic is exact and keeps order: of
 * two times of one source, the earlier is not the later one on the common line.
 */
#ifndef SONDE_EVENT_SOURCE_H
#define SONDE_EVENT_SOURCE_H

#include "base/base.h"

/* What source.drift is counted in: 2^-48 ns for each ns. */
enum { SOURCE_DRIFT_BITS = 48 };
/* No clock is off by more: a thousandth. */
#define SOURCE_DRIFT_MAX (((int64_t)1 << SOURCE_DRIFT_BITS) / 1000)

struct source {
	const char *(*get_string)(const void *arg, uint32_t id); /* "" if there is none */
	const void *arg;                                         /* borrowed */
	uint16_t host;  /* numbered from 0; threads of different hosts are different */
	uint16_t input; /* numbered from 0; stacks, frames and types of hits have numbers of it */
	uint16_t group; /* only in one and the same, times of different hosts can be compared */
	int64_t shift;  /* ns to add to its times, */
	int64_t drift;  /* and this for each ns since the origin */
	int64_t origin; /* on its own clock */
	const char *host_name; /* of the last span: the host that it names; NULL or "" if none */
	bool has_host_clock;   /* of the last span: its clock is known to be that of the host */
};

/* What the drift adds; kept out of the way of sources that have none, as most. */
__attribute__((noinline, unused)) static nsec_t source_drifted(const struct source *source,
							       nsec_t t)
{
	/* a time from a file may be anything, and wraps as the sum does */
	int64_t since = t - (uint64_t)source->origin;

	return (uint64_t)(int64_t)((__int128)since * source->drift >> SOURCE_DRIFT_BITS);
}

/* A time of the source on the common line. */
static inline nsec_t source_time(const struct source *source, nsec_t t)
{
	nsec_t shifted = t + (uint64_t)source->shift;

	return __builtin_expect(!source->drift, 1) ? shifted : shifted + source_drifted(source, t);
}

#endif
