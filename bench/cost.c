/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost COMMAND [ARG...] - run a program and print its cost to stderr.
 *
 * Prints the CPU time in user and kernel mode in ns, and the peak resident size in
 * KiB.  The latter includes the memory of the parent at fork(), so this is a small
 * program.  The stderr of the command is discarded.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

static nsec_t nsec(struct timeval t)
{
	return (nsec_t)t.tv_sec * NSEC_PER_SEC + (nsec_t)t.tv_usec * 1000;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	int status;

	if (argc < 2) {
		fprintf(stderr, "usage: bench-cost COMMAND [ARG...]\n");
		return 2;
	}

	pid_t child = fork();

	if (child < 0)
		die("cannot fork");
	if (child == 0) {
		dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (wait4(child, &status, 0, &usage) < 0)
		die("cannot wait");
	if (status != 0) {
		fprintf(stderr, "'%s' failed\n", argv[1]);
		return 1;
	}
	fprintf(stderr, "%lu %ld\n", nsec(usage.ru_utime) + nsec(usage.ru_stime), usage.ru_maxrss);
	return 0;
}
