/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile - check that --profile took the expected number of samples.
 *
 * The perf clock of each CPU fires HZ times a second.  If samples are missing (the kernel throttles
 * the clock, the CPU was offline at the start, the hypervisor stopped it), the profile
 * underestimates running time, so the recorder warns.
 *
 * Samples are expected for busy time only: on an idle CPU without ticks the kernel stops the clock
 * until the CPU is busy again.
 */
#ifndef SONDE_RECORD_KERNEL_PROFILE_H
#define SONDE_RECORD_KERNEL_PROFILE_H

#include "base/base.h"

/*
 * Parse the busy time by CPU from /proc/stat: `now` less the time that the CPU was idle or stolen.
 * Only differences have a meaning.  The kernel measures idle time; the busy times of that
 * file are counted in ticks, with which programs that wait for timers run in step.
 * CPUs that are missing there keep their value.
 */
void profile_parse_busy(const char *text, nsec_t now, nsec_t *ret, size_t cpus);

/* Busy time by CPU of this host, 0 for CPUs that are offline; the caller frees it. */
nsec_t *profile_busy(size_t cpus);

/*
 * Expected number of samples between two of these times, which are `elapsed` apart; 0 if a CPU was
 * hardly busy.  On a CPU that is mostly idle, samples fall short of the busy time: its work, such
 * as that of the recorder itself on a quiet host, often ends within the period of the clock.
 */
uint64_t profile_due(unsigned long hz, nsec_t from, nsec_t to, nsec_t elapsed);

/* Number of missing samples; 0 if at least half were taken, or if too few were due. */
uint64_t profile_missing(uint64_t due, uint64_t taken);

#endif
