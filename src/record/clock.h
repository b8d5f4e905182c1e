/* SPDX-License-Identifier: Apache-2.0 */
/* clock - CLOCK_MONOTONIC, which stamps all records, and its offsets to other clocks. */
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

/* The offset of another clock to CLOCK_MONOTONIC, from the fastest of a few readings. */
int64_t clock_offset(clockid_t clock);

/* The offset of CLOCK_MONOTONIC in the time namespace of a process to ours; 0 if unknown. */
int64_t clock_namespace_offset(uint32_t pid);

/* Sleep; a signal ends it early. */
void clock_pause(nsec_t ns);

#endif
