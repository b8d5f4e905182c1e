/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storm - generate events at a given rate, and count them.
 *
 * On each CPU, either a pair of threads passes a byte back and forth through pipes
 * (each pass is a context switch, for which a recorder writes a RUN and a WAIT), or
 * one thread calls getppid().  Events come in bursts, one per millisecond.  At the
 * end, it prints the number of calls, which it counted, and of switches, which the
 * kernel counted.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "clock.h"

struct plan {
	bool calls;
	double seconds, rate; /* events/s per CPU; 0 means full speed */
};

struct worker {
	pthread_t thread;
	const struct plan *plan; /* borrowed */
	int cpu;
	bool follows; /* the second thread of the pair */
	int in, out;  /* pipes */
	uint64_t calls;
};

static bool pass(struct worker *w)
{
	char byte = 0;

	if (w->follows)
		return read(w->in, &byte, 1) == 1 && write(w->out, &byte, 1) == 1;
	return write(w->out, &byte, 1) == 1 && read(w->in, &byte, 1) == 1;
}

/* Cause one call, or two switches of a pair. */
static double act(struct worker *w)
{
	if (!w->plan->calls)
		return pass(w) ? 2 : 0;
	syscall(SYS_getppid);
	w->calls++;
	return 1;
}

static void lead(struct worker *w)
{
	const struct timespec pause = { .tv_nsec = NSEC_PER_MSEC };
	nsec_t start = clock_now(CLOCK_MONOTONIC), t = start;
	double done = 0, length = w->plan->seconds * (double)NSEC_PER_SEC;

	while ((double)(t - start) < length) {
		done += act(w);
		t = clock_now(CLOCK_MONOTONIC);
		if (w->plan->rate > 0 && done > w->plan->rate * (double)(t - start) / 1e9)
			nanosleep(&pause, NULL);
	}
	close(w->out);
}

static void *run_worker(void *arg)
{
	struct worker *w = arg;

	pin_thread(w->cpu);
	if (w->follows)
		while (pass(w))
			;
	else
		lead(w);
	return NULL;
}

static void connect_pair(struct worker *leader, struct worker *follower)
{
	int there[2], back[2];

	if (pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC))
		die("cannot create a pipe");
	leader->out = there[1];
	leader->in = back[0];
	follower->in = there[0];
	follower->out = back[1];
}

/* Context switches of the process, including exited threads. */
static long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void run(const struct plan *plan)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), each = plan->calls ? 1 : 2;
	struct worker *workers = must_alloc((size_t)(cpus * each) * sizeof(*workers));
	long before = switches();
	uint64_t calls = 0;

	for (int i = 0; i < cpus * each; i++)
		workers[i] = (struct worker){
			.plan = plan, .cpu = i / each, .follows = i % each == 1, .out = -1
		};
	for (int i = 0; !plan->calls && i < cpus; i++)
		connect_pair(&workers[2 * i], &workers[2 * i + 1]);
	for (int i = 0; i < cpus * each; i++)
		if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]))
			die("cannot start a thread");
	for (int i = 0; i < cpus * each; i++) {
		pthread_join(workers[i].thread, NULL);
		calls += workers[i].calls;
	}
	printf("{\"threads\": %d, \"calls\": %lu, \"switches\": %ld}\n", cpus * each + 1, calls,
	       switches() - before);
	free(workers);
}

int main(int argc, char **argv)
{
	if (argc != 4 || (strcmp(argv[1], "calls") && strcmp(argv[1], "switches"))) {
		fprintf(stderr, "usage: bench-storm calls|switches SECONDS RATE\n");
		return 2;
	}
	double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
	struct plan plan = {
		.calls = !strcmp(argv[1], "calls"),
		.seconds = atof(argv[2]),
		.rate = atof(argv[3]) / cpus,
	};
	run(&plan);
	return 0;
}
