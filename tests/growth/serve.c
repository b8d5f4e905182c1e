/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve - a preloaded library that runs SERVE_PROGRAM many times, in forks of one process.
 *
 * Under valgrind, a short run spends most of its time on start-up and on translating the same code
 * again.  A fork skips both.  Each line of standard input is a command line, with words separated
 * by tabs; an empty line ends the program.  For each run, the library prints a line with its
 * process id and its wait status.  The output of the run itself goes to /dev/null.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int main_fn(int argc, char **argv, char **environment);
typedef int start_fn(main_fn *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
		     void (*rtld_fini)(void), void *stack_end);

start_fn __libc_start_main;

static main_fn *real_main;

enum { WORDS_MAX = 16 };

static int run(char *line, char **environment)
{
	char *words[WORDS_MAX + 1] = { NULL };
	int count = 0, nowhere = open("/dev/null", O_RDWR);

	for (char *word = strtok(line, "\t\n"); word && count < WORDS_MAX;
	     word = strtok(NULL, "\t\n"))
		words[count++] = word;
	for (int fd = 0; fd < 3; fd++)
		dup2(nowhere, fd);
	return real_main(count, words, environment);
}

static int serve(int argc, char **argv, char **environment)
{
	char line[4096];

	while (fgets(line, sizeof(line), stdin)) {
		pid_t pid = fork();
		int status = -1;

		if (pid == 0)
			return run(line, environment);
		waitpid(pid, &status, 0);
		printf("%d %d\n", pid, status);
		fflush(stdout);
	}
	return 0;
}

__attribute__((visibility("default"))) int __libc_start_main(main_fn *main, int argc, char **argv,
							     void (*init)(void), void (*fini)(void),
							     void (*rtld_fini)(void),
							     void *stack_end)
{
	start_fn *start = (start_fn *)dlsym(RTLD_NEXT, "__libc_start_main");

	bool is_it = strcmp(program_invocation_short_name, getenv("SERVE_PROGRAM")) == 0;

	real_main = main;
	return start(is_it ? serve : main, argc, argv, init, fini, rtld_fini, stack_end);
}
