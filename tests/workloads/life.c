/* SPDX-License-Identifier: Apache-2.0 */
/*
 * life - waits for another process to exit, exec or continue: I.
 *
 *	life KIND [COUNT [MILLISECONDS]]
 *
 * wait: a parent waits for a child that rests and exits.  vfork: the child rests
 * before its parent continues.  stop: a process stops itself, and another one
 * continues it after a rest.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "truth.h"

static unsigned long count, rest;

static void wait_for_child(void)
{
	struct track *t = track_new("wait");

	for (unsigned long i = 0; i < count; i++) {
		pid_t child = (pid_t)must(fork(), "fork");

		if (!child) {
			sleep_until(now() + rest);
			_exit(0);
		}
		call_begin(t);
		must(waitpid(child, NULL, 0), "waitpid");
		call_end(t);
	}
}

static void wait_in_vfork(void)
{
	struct track *t = track_new("wait");
	struct timespec span = { 0, (long)rest };

	for (unsigned long i = 0; i < count; i++) {
		call_begin(t);
		pid_t child = vfork();
		if (!child) { /* in the parent's memory: nothing but system calls */
			nanosleep(&span, NULL);
			_exit(0);
		}
		call_end(t);
		must(waitpid((pid_t)must(child, "vfork"), NULL, 0), "waitpid");
	}
}

static void stop_often(void)
{
	struct track *t = track_new("wait");

	for (unsigned long i = 0; i < count; i++) {
		call_begin(t);
		must(kill(getpid(), SIGSTOP), "kill");
		call_end(t);
	}
}

static void wait_to_be_continued(void)
{
	struct track *t = track_new("release");
	pid_t child = (pid_t)must(fork(), "fork");
	int status;

	if (!child) {
		stop_often();
		_exit(0);
	}
	while (must(waitpid(child, &status, WUNTRACED), "waitpid") > 0 && WIFSTOPPED(status)) {
		sleep_until(now() + rest);
		call_begin(t);
		must(kill(child, SIGCONT), "kill");
		call_end(t);
	}
}

static const struct kind {
	const char *name;
	void (*run)(void);
} kinds[] = {
	{ "wait", wait_for_child },
	{ "vfork", wait_in_vfork },
	{ "stop", wait_to_be_continued },
};

int main(int argc, char **argv)
{
	truth_init("life");
	count = number_arg(argc, argv, 2, 53);
	rest = number_arg(argc, argv, 3, 5) * MSEC;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (argc < 2 || strcmp(kinds[i].name, argv[1]) != 0)
			continue;
		truth_gate();
		kinds[i].run();
		truth_print();
		return 0;
	}
	fputs("life: no such kind\n", stderr);
	return 1;
}
