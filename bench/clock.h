/* SPDX-License-Identifier: Apache-2.0 */
/* clock - common helpers: read a clock, pin to a CPU, exit with a message. */
#ifndef SONDE_BENCH_CLOCK_H
#define SONDE_BENCH_CLOCK_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/base.h"

static inline nsec_t clock_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (nsec_t)t.tv_sec * NSEC_PER_SEC + (nsec_t)t.tv_nsec;
}

static inline void pin_thread(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static inline _Noreturn void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(1);
}

#endif
