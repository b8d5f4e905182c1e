/* SPDX-License-Identifier: Apache-2.0 */
/*
 * micro - things that a recorder sees, done many times and timed.
 *
 * A line `NAME COUNT` on standard input does one of them COUNT times and
 * prints the nanoseconds for each.  The process stays, so that what is timed
 * with and without a recorder differs in nothing else.
 *
 * All threads stay on one CPU, which they keep busy, and the clock is that of
 * their CPU time: what the kernel does at a switch is in it, since it counts
 * as part of the next thread's turn, and what others do on this CPU is not.
 * Only sleeping leaves the CPU idle, so there the time that passes counts.
 *
 * Built with PUBLISH, each thread publishes which span it works for, by
 * OpenTelemetry's standard: always the same one if it is 1, and if it is 2 another
 * one at each turn.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "clock.h"

#ifdef PUBLISH
struct context {
	uint64_t trace[2], span;
	uint8_t valid, flags;
	uint16_t attributes_size;
};

__attribute__((visibility("default"))) __thread struct context *otel_thread_ctx_v1;

static void publish(void)
{
	static __thread struct context context = { .trace = { 1, 2 }, .span = 3 };

	context.valid = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	context.span += PUBLISH - 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	context.valid = 1;
	otel_thread_ctx_v1 = &context;
}
#else
static void publish(void)
{
}
#endif

/* Two threads and what they do to each other. */
struct pair {
	void (*slice)(struct pair *pair, int side);
	unsigned long count;
	int pipes[2][2]; /* to each side */
	uint32_t whose;  /* side that has the ball */
};

static void turn_pipe(struct pair *pair, int side)
{
	char byte = 0;

	if (side && read(pair->pipes[1][0], &byte, 1) != 1)
		die("cannot read from a pipe");
	if (write(pair->pipes[!side][1], &byte, 1) != 1)
		die("cannot write to a pipe");
	if (!side && read(pair->pipes[0][0], &byte, 1) != 1)
		die("cannot read from a pipe");
}

static void turn_yield(struct pair *pair, int side)
{
	sched_yield();
}

static void turn_futex(struct pair *pair, int side)
{
	uint32_t *whose = &pair->whose;

	while (__atomic_load_n(whose, __ATOMIC_ACQUIRE) != (uint32_t)side)
		syscall(SYS_futex, whose, FUTEX_WAIT_PRIVATE, !side, NULL);
	__atomic_store_n(whose, !side, __ATOMIC_RELEASE);
	syscall(SYS_futex, whose, FUTEX_WAKE_PRIVATE, 1);
}

static void *other_side(void *arg)
{
	struct pair *pair = arg;

	for (unsigned long i = 0; i < pair->count; i++) {
		publish();
		pair->slice(pair, 1);
	}
	return NULL;
}

/* Both sides take count turns: two switches, or two calls that block, for each. */
static double time_pair(void (*slice)(struct pair *, int), unsigned long count)
{
	struct pair pair = { .slice = slice, .count = count };
	pthread_t thread;

	if (pipe2(pair.pipes[0], O_CLOEXEC) || pipe2(pair.pipes[1], O_CLOEXEC))
		die("cannot create a pipe");
	if (pthread_create(&thread, NULL, other_side, &pair))
		die("cannot start a thread");

	nsec_t start = clock_now(CLOCK_PROCESS_CPUTIME_ID);
	for (unsigned long i = 0; i < count; i++) {
		publish();
		slice(&pair, 0);
	}
	pthread_join(thread, NULL);
	nsec_t took = clock_now(CLOCK_PROCESS_CPUTIME_ID) - start;

	for (int i = 0; i < 4; i++)
		close(pair.pipes[i / 2][i % 2]);
	return (double)took / (double)count / 2;
}

static void do_sleep(unsigned long count)
{
	const struct timespec shortly = { .tv_nsec = 1000 };

	for (unsigned long i = 0; i < count; i++) {
		publish();
		nanosleep(&shortly, NULL);
	}
}

static void do_call(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		syscall(SYS_getppid);
}

/* Nothing that a recorder could see: what shows here is noise. */
static void do_compute(unsigned long count)
{
	for (volatile unsigned long i = 0; i < count;)
		i = i + 1;
}

static double time_loop(void (*loop)(unsigned long), unsigned long count)
{
	clockid_t clock = loop == do_sleep ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
	nsec_t start = clock_now(clock);

	loop(count);
	return (double)(clock_now(clock) - start) / (double)count;
}

static const struct {
	const char *name;
	void (*slice)(struct pair *, int);
	void (*loop)(unsigned long);
} deeds[] = {
	{ .name = "pipe", .slice = turn_pipe },   { .name = "yield", .slice = turn_yield },
	{ .name = "futex", .slice = turn_futex }, { .name = "sleep", .loop = do_sleep },
	{ .name = "call", .loop = do_call },      { .name = "compute", .loop = do_compute },
};

int main(int argc, char **argv)
{
	char name[16];
	unsigned long count;

	if (argc != 2) {
		fprintf(stderr, "usage: bench-micro CPU\n");
		return 2;
	}
	pin_thread(atoi(argv[1]));
	prctl(PR_SET_TIMERSLACK, 1);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (scanf("%15s %lu", name, &count) == 2)
		for (size_t i = 0; i < ARRAY_LEN(deeds); i++)
			if (!strcmp(name, deeds[i].name))
				printf("%.2f\n", deeds[i].slice ? time_pair(deeds[i].slice, count)
								: time_loop(deeds[i].loop, count));
	return 0;
}
