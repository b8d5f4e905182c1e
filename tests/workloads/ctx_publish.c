/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctx_publish - threads that publish their current span, and sleep.
 *
 *	ctx_publish [-l LIBRARY] [THREADS [ROUNDS [MILLISECONDS]]]
 *
 * Each thread waits some milliseconds for a recorder to find its variable.  Then it
 * publishes one span after another, none, and an invalid context.  It sleeps after
 * each change, so that each must be recorded once.  At the end the first thread
 * forks a child that does the same, and the child executes a program that publishes
 * nothing.
 *
 * Prints a line for each change: process and thread, the time before and after it,
 * and the span: 16 digits, or "none", or "unknown".
 *
 * Built with CTX_LOAD, the variable is in a library: a preloaded one, or LIBRARY,
 * which is loaded after all threads have started.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctx.h"
#include "truth.h"

enum { THREADS = 64 };

static unsigned long rounds, pause_ms;
static pthread_barrier_t loaded;
static void (*set)(const struct ctx_record *record);
static const char *library;

#ifdef CTX_LOAD
static void load(void)
{
	void *handle = library ? dlopen(library, RTLD_NOW) : RTLD_DEFAULT;
	void *symbol = handle || !library ? dlsym(handle, "ctx_set") : NULL;

	if (!symbol) {
		fprintf(stderr, "ctx_publish: %s\n", dlerror());
		exit(1);
	}
	memcpy(&set, &symbol, sizeof(set));
}
#else
static void load(void)
{
	set = ctx_set;
}
#endif

static void rest(uint64_t ms)
{
	sleep_until(now() + ms * MSEC);
}

static void tell(uint64_t before, const struct ctx_record *record)
{
	char line[128] = "none";

	for (int i = 0; record && i < 8; i++)
		snprintf(line + 2 * i, 3, "%02x", record->span[i]);
	if (record && !record->valid)
		strcpy(line, "unknown");
	printf("%d %ld %llu %llu %s\n", getpid(), syscall(SYS_gettid), (unsigned long long)before,
	       (unsigned long long)now(), line);
}

/* before: time before the change, if the published record itself was changed */
static void change_since(uint64_t before, const struct ctx_record *record)
{
	set(record);
	tell(before, record);
	rest(2);
}

static void change(const struct ctx_record *record)
{
	change_since(now(), record);
}

/* By the standard, a context is invalid while it changes. */
static void fill(struct ctx_record *record, uint64_t tid, unsigned long i)
{
	record->valid = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memcpy(record->trace, "sonde's contexts", 16);
	memcpy(record->span, &tid, 4);
	record->span[7] = (uint8_t)(i + 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	record->valid = i % 5 != 4;
}

static void publish(void)
{
	struct ctx_record record = { 0 };

	for (unsigned long i = 0; i < rounds; i++) {
		uint64_t before = now();

		fill(&record, (uint64_t)syscall(SYS_gettid), i);
		change_since(before, &record);
		if (i % 3 == 2)
			change(NULL);
	}
	change(NULL);
}

static void *thread(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&loaded);
	rest(pause_ms);
	publish();
	return NULL;
}

static void fork_and_execute(void)
{
	struct ctx_record record = { .valid = 1, .span = "forked!" };
	pid_t child;

	change(&record);
	fflush(stdout);
	child = (pid_t)must(fork(), "fork");
	if (child == 0) {
		publish();
		change(&record);
		fflush(stdout);
		execl("/bin/sleep", "sleep", "0.02", NULL);
		_exit(1);
	}
	must(waitpid(child, NULL, 0), "waitpid");
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	setvbuf(stdout, NULL, _IOFBF, 1 << 20);
	if (argc > 2 && strcmp(argv[1], "-l") == 0) {
		library = argv[2];
		argv += 2;
		argc -= 2;
	}
	unsigned long count = number_arg(argc, argv, 1, 3) % THREADS;
	rounds = number_arg(argc, argv, 2, 7);
	pause_ms = number_arg(argc, argv, 3, 500);

	pthread_barrier_init(&loaded, NULL, (unsigned int)count + 1);
	for (unsigned long i = 0; i < count; i++)
		must(-pthread_create(&threads[i], NULL, thread, NULL), "pthread_create");
	load();
	pthread_barrier_wait(&loaded);
	rest(pause_ms);
	publish();
	for (unsigned long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	fork_and_execute();
	return 0;
}
