/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents MODE COUNT [PAUSE] - spans of short-lived programs.
 *
 *	loop     one thread, COUNT spans, each followed by a pause of PAUSE us
 *	gated    the same without pauses, after reading a line; one span before that
 *	fork     COUNT children, one after the other, which exit by _exit()
 *	threads  COUNT threads, one after the other
 *	exec     COUNT programs, each executed by the previous one
 *	abandon  COUNT threads that begin a span and never end it; then the process is killed
 *
 * Each span is named after its mode.  For each span that ends, a line with the tid is
 * printed.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/sonde.h"

static struct sonde_site site;

static void run_round(int number)
{
	struct sonde_span span;

	sonde_begin(&site, &span);
	sonde_set_int(&span, "number", number);
	dprintf(STDOUT_FILENO, "%ld\n", syscall(SYS_gettid));
	sonde_end(&span);
}

static void *round_thread(void *arg)
{
	run_round(*(int *)arg);
	return arg;
}

static int begun; /* spans that will not end */

static void *abandon_thread(void *arg)
{
	struct sonde_span *span = arg;

	sonde_begin(&site, span);
	__atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
	pause();
	return NULL;
}

static void loop(int count, int pause_us)
{
	for (int i = 0; i < count; i++) {
		run_round(i);
		if (pause_us)
			usleep(pause_us);
	}
}

static void wait_at_gate(int count)
{
	char line;

	run_round(0);
	while (read(STDIN_FILENO, &line, 1) == 1 && line != '\n')
		;
	loop(count, 0);
}

static void fork_children(int count)
{
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			run_round(i);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

static void make_threads(int count)
{
	for (int i = 0; i < count; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, round_thread, &i);
		pthread_join(thread, NULL);
	}
}

static void abandon(int count)
{
	static struct sonde_span spans[64];

	count = count < 64 ? count : 64;
	for (int i = 0; i < count; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, abandon_thread, &spans[i]);
	}
	while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < count)
		usleep(1000);
	usleep(200 * 1000);
	kill(getpid(), SIGKILL);
}

static int execute(char **argv, int count)
{
	char left[16];

	run_round(count);
	if (count == 1)
		return 0;
	snprintf(left, sizeof(left), "%d", count - 1);
	argv[2] = left;
	execv(argv[0], argv);
	return 1;
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 0;

	if (count <= 0)
		return 2;
	site.name = argv[1];
	if (strcmp(argv[1], "loop") == 0)
		loop(count, argc > 3 ? atoi(argv[3]) : 0);
	else if (strcmp(argv[1], "gated") == 0)
		wait_at_gate(count);
	else if (strcmp(argv[1], "fork") == 0)
		fork_children(count);
	else if (strcmp(argv[1], "threads") == 0)
		make_threads(count);
	else if (strcmp(argv[1], "abandon") == 0)
		abandon(count);
	else if (strcmp(argv[1], "exec") == 0)
		return execute(argv, count);
	else
		return 2;
	return 0;
}
