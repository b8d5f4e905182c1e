/* SPDX-License-Identifier: Apache-2.0 */
/* clock - offsets of other clocks to CLOCK_MONOTONIC, which stamps all records, and pauses. */
#ifndef SONDE_RECORD_CLOCK_H
#define SONDE_RECORD_CLOCK_H

#include "base/clock.h"

/* The offset of another clock to CLOCK_MONOTONIC, from the fastest of a few readings. */
int64_t clock_offset(clockid_t clock);

/* The offset of CLOCK_MONOTONIC in the time namespace of a process to ours; 0 if unknown. */
int64_t clock_namespace_offset(uint32_t pid);

/* Sleep; a signal ends it early. */
void clock_pause(nsec_t ns);

#endif
