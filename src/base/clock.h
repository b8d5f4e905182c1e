/* SPDX-License-Identifier: Apache-2.0 */
/* clock - clocks of this host, in nanoseconds. */
#ifndef SONDE_BASE_CLOCK_H
#define SONDE_BASE_CLOCK_H

#include <time.h>

#include "base/base.h"

static inline nsec_t clock_read(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* CLOCK_MONOTONIC, which also stamps all records. */
static inline nsec_t clock_now(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

/* CPU time of this process. */
static inline nsec_t clock_cpu_time(void)
{
	return clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

#endif
