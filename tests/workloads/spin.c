/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spin - uses a CPU, and never blocks.
 *
 *	spin MILLISECONDS [NAME]
 *
 * Runs until it has had that much CPU time, under NAME if given.  So whatever
 * its clock shows beyond that, it wanted a CPU and had none: because of others
 * (C) or of its quota (Q).  Nine tenths of the time are in spin_hot(), the rest
 * in spin_cold(), for a profile to find out.
 */
#include <sys/prctl.h>
#include <time.h>

#include "truth.h"

#define STEPS 20000

static volatile unsigned long sink;

__attribute__((noinline)) static void spin_hot(void)
{
	for (unsigned i = 0; i < 9 * STEPS; i++)
		sink = sink * 5 + i;
}

__attribute__((noinline)) static void spin_cold(void)
{
	for (unsigned i = 0; i < STEPS; i++)
		sink = sink * 5 + i;
}

static uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	uint64_t span = number_arg(argc, argv, 1, 500) * MSEC;

	truth_init("spin");
	if (argc > 2)
		prctl(PR_SET_NAME, argv[2]);
	truth_gate();
	struct track *t = track_new("spin");
	call_begin(t);
	for (uint64_t begin = cpu_time(); cpu_time() - begin < span;) {
		spin_hot();
		spin_cold();
	}
	call_end(t);
	truth_print();
	return 0;
}
