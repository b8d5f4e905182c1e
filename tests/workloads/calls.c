/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls - system calls in a known order, with known results.
 *
 *	calls rounds [COUNT]
 *	calls storm [COUNT]
 *	calls moves [COUNT]
 *	calls faults [COUNT]
 *
 * rounds: one call of each kind, of which one fails and one sleeps.  storm:
 * getppid() as fast as possible, in batches, to fill any buffer; the CPU time per
 * call of the fastest batch is printed.  moves: the thread migrates between two
 * CPUs.  faults: first accesses to pages at printed addresses.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "truth.h"

#define PIECE 10000
#define PAGE 4096

static void do_rounds(unsigned long count)
{
	int zero = (int)must(open("/dev/zero", O_RDONLY), "/dev/zero");
	int null = (int)must(open("/dev/null", O_WRONLY), "/dev/null");
	struct timespec span = { 0, 2 * MSEC };
	struct track *t = track_new("round"), *nap = track_new("nap");
	char bytes[16];

	for (unsigned long i = 0; i < count; i++) {
		call_begin(t);
		syscall(SYS_getppid);
		must(read(zero, bytes, 13), "read");
		must(write(null, bytes, 7), "write");
		if (open("/nonexistent", O_RDONLY) >= 0)
			must(-1, "/nonexistent");
		call_begin(nap);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL);
		call_end(nap);
		call_end(t);
	}
}

static uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void do_storm(unsigned long count)
{
	struct track *t = track_new("storm");
	uint64_t best = UINT64_MAX;

	call_begin(t);
	for (unsigned long i = 0; i < count;) {
		uint64_t begin = cpu_time();
		unsigned long piece = count - i < PIECE ? count - i : PIECE;

		for (unsigned long j = 0; j < piece; j++)
			syscall(SYS_getppid);
		i += piece;
		uint64_t spent = cpu_time() - begin;
		if (piece == PIECE && spent < best)
			best = spent;
	}
	call_end(t);
	truth_add("cpu_per_call", "%.1f", (double)best / PIECE);
}

static void move_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

static void do_moves(unsigned long count)
{
	int64_t *cpus = calloc(count, sizeof(*cpus));

	move_to(0);
	struct track *t = track_new("move");
	for (unsigned long i = 0; i < count; i++) {
		call_begin(t);
		move_to(i % 2 == 0);
		cpus[i] = sched_getcpu();
		call_end(t);
	}
	truth_add_list("cpus", cpus, count);
}

static void do_faults(unsigned long count)
{
	int64_t *places = calloc(count, sizeof(*places));
	char *p = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	if (p == MAP_FAILED)
		must(-1, "mmap");
	madvise(p, count * PAGE, MADV_NOHUGEPAGE);
	for (unsigned long i = 0; i < count; i++)
		places[i] = (int64_t)(intptr_t)(p + i * PAGE);
	struct track *t = track_new("faults");
	call_begin(t);
	for (unsigned long i = 0; i < count; i++)
		*(volatile char *)(p + i * PAGE) = 1;
	call_end(t);
	truth_add_list("addresses", places, count);
}

static const struct kind {
	const char *name;
	unsigned long count;
	void (*run)(unsigned long);
} kinds[] = {
	{ "rounds", 101, do_rounds },
	{ "storm", 1000003, do_storm },
	{ "moves", 53, do_moves },
	{ "faults", 1009, do_faults },
};

int main(int argc, char **argv)
{
	truth_init("calls");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (argc < 2 || strcmp(kinds[i].name, argv[1]) != 0)
			continue;
		truth_gate();
		kinds[i].run(number_arg(argc, argv, 2, kinds[i].count));
		truth_print();
		return 0;
	}
	fputs("calls: no such kind\n", stderr);
	return 1;
}
