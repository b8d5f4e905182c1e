/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile - whether --profile took the samples it should have.
 *
 * The clock of each CPU goes off HZ times a second.  If it does not (the kernel throttles it, the
 * CPU was offline when recording began, the hypervisor stopped it), running time looks as if
 * nothing had run, so that has to be reported.
 *
 * Only busy time counts.  The kernel limits the samples between two ticks; an idle CPU has no
 * ticks, so its clock stops after a while, and goes on with the first tick when the CPU is busy
 * again.
 */
#ifndef SONDE_RECORD_KERNEL_PROFILE_H
#define SONDE_RECORD_KERNEL_PROFILE_H

#include "base/base.h"

/* Busy time since boot by CPU, from a text like /proc/stat; CPUs that are not in it stay as they
 * are. */
void profile_parse_busy(const char *text, nsec_t *ret, size_t cpus);

/* The same of this machine, to be freed. */
nsec_t *profile_busy(size_t cpus);

/* How many samples a CPU should have given in that time. */
uint64_t profile_due(unsigned long hz, nsec_t busy);

/* How many of them are missing; 0 if at least half were taken, or too few were due to tell. */
uint64_t profile_missing(uint64_t due, uint64_t taken);

#endif
