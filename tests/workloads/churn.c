/* SPDX-License-Identifier: Apache-2.0 */
/*
 * churn - many short-lived processes or threads.
 *
 *	churn processes [COUNT [THREADS]]
 *	churn takeover [COUNT [THREADS]]
 *	churn threads [COUNT [PER_SECOND]]
 *
 * processes: COUNT children one after the other; each executes a program, starts
 * THREADS threads and exits with its own code.  takeover: the same, but a second
 * thread of the child executes the program, and so takes over the tid of the
 * leader.  threads: COUNT threads at a steady rate.  Prints all tids and exit codes.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

#define CODE_COUNT 251

static int64_t *ids;
static unsigned long id_count;

static void *say_tid(void *arg)
{
	int64_t tid = gettid();

	must(write((int)(intptr_t)arg, &tid, sizeof(tid)), "write");
	return NULL;
}

/* The program that each child executes. */
static int be_leaf(int argc, char **argv)
{
	int out = (int)number_arg(argc, argv, 2, 1);
	unsigned long threads = number_arg(argc, argv, 3, 0);

	for (unsigned long i = 0; i < threads; i++) {
		pthread_t thread;

		must(-pthread_create(&thread, NULL, say_tid, (void *)(intptr_t)out), "thread");
		pthread_join(thread, NULL);
	}
	return (int)number_arg(argc, argv, 4, 0);
}

static char *leaf[6] = { "leaf", "leaf" }; /* arguments of the program */

static void *execute(void *arg)
{
	execv("/proc/self/exe", leaf);
	_exit(255);
}

static void be_child(bool takeover)
{
	pthread_t thread;

	if (!takeover)
		execute(NULL);
	must(-pthread_create(&thread, NULL, execute, NULL), "thread");
	for (;;)
		pause();
}

static void churn_processes(unsigned long count, unsigned long threads, bool takeover)
{
	int64_t *pids = calloc(count, sizeof(*pids)), *codes = calloc(count, sizeof(*codes));
	char out[16], number[16], code[16];
	int ends[2], status;

	must(pipe(ends), "pipe");
	ids = calloc(count * threads + 1, sizeof(*ids));
	snprintf(out, sizeof(out), "%d", ends[1]);
	snprintf(number, sizeof(number), "%lu", threads);
	leaf[2] = out;
	leaf[3] = number;
	leaf[4] = code;
	for (unsigned long i = 0; i < count; i++) {
		snprintf(code, sizeof(code), "%lu", i % CODE_COUNT);
		pids[i] = must(fork(), "fork");
		if (!pids[i])
			be_child(takeover);
		must(waitpid((pid_t)pids[i], &status, 0), "waitpid");
		codes[i] = status;
		for (unsigned long j = 0; j < threads; j++)
			must(read(ends[0], &ids[id_count++], sizeof(ids[0])), "read");
	}
	truth_add_list("pids", pids, count);
	truth_add_list("codes", codes, count);
}

static void *keep_tid(void *arg)
{
	*(int64_t *)arg = gettid();
	return NULL;
}

static void churn_threads(unsigned long count, unsigned long per_second)
{
	uint64_t begin = now();
	pthread_t thread;

	ids = calloc(count, sizeof(*ids));
	for (; id_count < count; id_count++) {
		sleep_until(begin + id_count * 1000000000ull / per_second);
		must(-pthread_create(&thread, NULL, keep_tid, &ids[id_count]), "thread");
		pthread_join(thread, NULL);
	}
	truth_add("seconds", "%.3f", (double)(now() - begin) / 1e9);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "processes";

	if (strcmp(kind, "leaf") == 0)
		return be_leaf(argc, argv);
	truth_init("churn");
	truth_gate();
	if (strcmp(kind, "threads") == 0)
		churn_threads(number_arg(argc, argv, 2, 10007), number_arg(argc, argv, 3, 1000));
	else
		churn_processes(number_arg(argc, argv, 2, 53), number_arg(argc, argv, 3, 3),
				strcmp(kind, "takeover") == 0);
	truth_add_list("tids", ids, id_count);
	truth_print();
	return 0;
}
