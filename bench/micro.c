/* SPDX-License-Identifier: Apache-2.0 */
/*
 * micro - time single operations that a recorder observes.
 *
 * For each line `NAME COUNT` on stdin, execute an operation COUNT times and print
 * the ns per operation.  The same process is measured with and without a recorder,
 * so that nothing else differs.
 *
 * All threads run on one CPU, keep it busy, and measure their CPU time.  This
 * includes the work of the kernel at a context switch, which counts for the next
 * thread, but not the work of other tasks on this CPU.  Only sleeping leaves the
 * CPU idle, so for that operation elapsed time is measured.
 *
 * If built with PUBLISH, each thread publishes the span that it works for (OTEP
 * 4947): with PUBLISH=1 always the same span, with PUBLISH=2 another one at each
 * step.
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

/* Two threads that wake each other in turn. */
struct pair {
	void (*step)(struct pair *pair, int side);
	unsigned long count;
	int pipes[2][2]; /* one to each side */
	uint32_t whose;  /* side that runs next */
};

static void step_pipe(struct pair *pair, int side)
{
	char byte = 0;

	if (side && read(pair->pipes[1][0], &byte, 1) != 1)
		die("cannot read from a pipe");
	if (write(pair->pipes[!side][1], &byte, 1) != 1)
		die("cannot write to a pipe");
	if (!side && read(pair->pipes[0][0], &byte, 1) != 1)
		die("cannot read from a pipe");
}

static void step_yield(struct pair *pair, int side)
{
	sched_yield();
}

static void step_futex(struct pair *pair, int side)
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
		pair->step(pair, 1);
	}
	return NULL;
}

/* Both sides take count steps: two switches, or two blocking calls, per count. */
static double time_pair(void (*step)(struct pair *, int), unsigned long count)
{
	struct pair pair = { .step = step, .count = count };
	pthread_t thread;

	if (pipe2(pair.pipes[0], O_CLOEXEC) || pipe2(pair.pipes[1], O_CLOEXEC))
		die("cannot create a pipe");
	if (pthread_create(&thread, NULL, other_side, &pair))
		die("cannot start a thread");

	nsec_t start = clock_now(CLOCK_PROCESS_CPUTIME_ID);
	for (unsigned long i = 0; i < count; i++) {
		publish();
		step(&pair, 0);
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

/* A recorder observes none of this, so any difference is noise. */
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
	void (*step)(struct pair *, int);
	void (*loop)(unsigned long);
} operations[] = {
	{ .name = "pipe", .step = step_pipe },   { .name = "yield", .step = step_yield },
	{ .name = "futex", .step = step_futex }, { .name = "sleep", .loop = do_sleep },
	{ .name = "call", .loop = do_call },     { .name = "compute", .loop = do_compute },
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
		for (size_t i = 0; i < ARRAY_LEN(operations); i++)
			if (!strcmp(name, operations[i].name))
				printf("%.2f\n", operations[i].step
							 ? time_pair(operations[i].step, count)
							 : time_loop(operations[i].loop, count));
	return 0;
}
