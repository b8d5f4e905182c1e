/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spin - uses a CPU, and never blocks.
 *
 *	spin MILLISECONDS [NAME [RIVAL]]
 *
 * Runs until it has used that much CPU time, under NAME if given.  The rest of the
 * elapsed time it waited for a CPU, because of other threads (C) or its quota (Q).
 * Prints the CPU time of the process RIVAL in the same time.
 *
 * It reads the clock about every microsecond.  A longer time between two readings is
 * a gap, in which an interrupt or another thread had the CPU.  For profiles, it spends
 * nine tenths of the rest in spin_hot() and one tenth in spin_cold().
 */
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "truth.h"

#define STEPS 100
#define GAP 3000 /* ns */
#define GAP_MAX 20000

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

static uint64_t cpu_time(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int64_t gaps[2 * GAP_MAX]; /* begin, end, begin, end, ... */
static size_t gap_count;
static uint64_t last; /* previous reading of the clock */

/* Spin for about a millisecond. */
static void spin(void)
{
	for (int i = 0; i < 1000; i++) {
		spin_hot();
		spin_cold();

		uint64_t time = now();

		if (time - last > GAP && gap_count < GAP_MAX) {
			gaps[2 * gap_count] = (int64_t)last;
			gaps[2 * gap_count++ + 1] = (int64_t)time;
		}
		last = time;
	}
}

int main(int argc, char **argv)
{
	uint64_t span = number_arg(argc, argv, 1, 500) * MSEC;
	clockid_t rival = CLOCK_THREAD_CPUTIME_ID;

	truth_init("spin");
	if (argc > 2)
		prctl(PR_SET_NAME, argv[2]);
	if (argc > 3)
		must(-clock_getcpuclockid(atoi(argv[3]), &rival), "clock of the rival");
	truth_gate();
	struct track *t = track_new("spin");
	call_begin(t);
	uint64_t before = cpu_time(rival), first = last = now();
	for (uint64_t begin = cpu_time(CLOCK_THREAD_CPUTIME_ID);
	     cpu_time(CLOCK_THREAD_CPUTIME_ID) - begin < span;)
		spin();
	uint64_t after = cpu_time(rival);
	call_end(t);
	truth_add("looks", "[%ju, %ju]", (uintmax_t)first, (uintmax_t)last);
	truth_add_list("gaps", gaps, 2 * gap_count);
	truth_add("rival", "%ju", (uintmax_t)(after - before));
	truth_print();
	return 0;
}
