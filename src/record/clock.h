/* SPDX-License-Identifier: Apache-2.0 */
/* clock - the time that records have, and the other clocks against it. */
#ifndef SONDE_RECORD_CLOCK_H
#define SONDE_RECORD_CLOCK_H

#include <time.h>

#include "base/base.h"

static inline nsec_t clock_read(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static inline nsec_t clock_now(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

/* Another clock minus ours: the reading with the least time around it of a few. */
int64_t clock_offset(clockid_t clock);

/* How far that of a process is ahead of ours, as one in a time namespace is; 0 if not known. */
int64_t clock_namespace_offset(uint32_t pid);

/* A signal ends it early. */
void clock_pause(nsec_t ns);

#endif
