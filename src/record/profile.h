/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile - whether --profile took the samples it should have.
 *
 * The clock of each CPU goes off HZ times a second, also while the CPU is idle or runs what is not
 * in scope.  If it does not (the kernel throttles it, the CPU was offline when recording began, the
 * hypervisor stopped it), running time looks as if nothing had run, so that has to be reported.
 */
#ifndef SONDE_RECORD_PROFILE_H
#define SONDE_RECORD_PROFILE_H

#include "base/base.h"

/* How many samples a CPU should have given in that time. */
uint64_t profile_due(unsigned long hz, nsec_t elapsed);

/* How many of them are missing; 0 if at least half were taken, or too few were due to tell. */
uint64_t profile_missing(uint64_t due, uint64_t taken);

#endif
