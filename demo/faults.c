/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define BLOCK (4u << 20) /* bytes of an allocation, which malloc() takes from mmap() */
#define PAGE 4096u
#define LINE 4096 /* bytes of a line of the log */

static struct {
	const char *directory, *service, *logs; /* borrowed */
	pthread_mutex_t lock;                   /* of the fault `lock` */
	pthread_mutex_t janitor_lock;
	bool has_janitor;
} faults = { .lock = PTHREAD_MUTEX_INITIALIZER, .janitor_lock = PTHREAD_MUTEX_INITIALIZER };

void faults_init(const char *directory, const char *service, const char *logs)
{
	faults.directory = directory;
	faults.service = service;
	faults.logs = logs;
}

static bool read_strength(const char *path, double *ret_strength)
{
	char text[32];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size;

	if (fd < 0)
		return false;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (size > 0) {
		text[size] = '\0';
		*ret_strength = atof(text);
	}
	return true;
}

bool faults_find(const char *name, const char *operation, double *ret_strength)
{
	char path[512];

	if (!faults.directory)
		return false;
	snprintf(path, sizeof(path), "%s/%s@%s", faults.directory, name, faults.service);
	if (read_strength(path, ret_strength))
		return true;
	snprintf(path, sizeof(path), "%s/%s@%s:%s", faults.directory, name, faults.service,
		 operation);
	return read_strength(path, ret_strength);
}

static void pause_ms(double ms)
{
	struct timespec t = { (time_t)(ms / 1e3), 0 };

	t.tv_nsec = (long)((ms - 1e3 * (double)t.tv_sec) * 1e6);
	nanosleep(&t, NULL);
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

__attribute__((noinline)) static unsigned assess_risk(double ms)
{
	double end = cpu_ms() + ms;
	volatile unsigned risk = 2166136261u;

	while (cpu_ms() < end)
		for (unsigned i = 0; i < 10000; i++)
			risk = (risk ^ i) * 16777619u;
	return risk;
}

static void compute(double ms)
{
	assess_risk(ms);
}

static void allocate(double ms)
{
	double end = cpu_ms() + ms;

	while (cpu_ms() < end) {
		char *block = malloc(BLOCK);

		if (!block)
			return;
		memset(block, 1, BLOCK);
		__asm__ volatile("" : : "r"(block) : "memory"); /* keeps the memset */
		free(block);
	}
}

static void pages(double ms)
{
	double end = cpu_ms() + ms;
	char *block = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (block == MAP_FAILED)
		return;
	madvise(block, BLOCK, MADV_NOHUGEPAGE);
	while (cpu_ms() < end) {
		for (unsigned i = 0; i < BLOCK; i += PAGE)
			((volatile char *)block)[i] = 1;
		madvise(block, BLOCK, MADV_DONTNEED);
	}
	munmap(block, BLOCK);
}

/* Flush each line to disk before the next one. */
static void write_lines(const char *kind, int lines)
{
	char path[512], line[LINE];
	int fd;

	snprintf(path, sizeof(path), "%s/%s-%s.log", faults.logs, kind, faults.service);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0) {
		warn("cannot open '%s'", path);
		return;
	}
	memset(line, '.', sizeof(line));
	line[LINE - 1] = '\n';
	for (int i = 0; i < lines; i++)
		if (write(fd, line, sizeof(line)) != sizeof(line) || fsync(fd))
			warn("cannot write '%s'", path);
	close(fd);
}

static void flush(double lines)
{
	write_lines("seen", (int)lines);
}

static void journal(double lines)
{
	write_lines("journal", (int)lines);
}

/* Tidies up under a lock, most of the time, until the fault ends. */
static void *tidy_up(void *operation)
{
	double ms = 20;

	pthread_setname_np(pthread_self(), "janitor");
	while (faults_find("lock", operation, &ms)) {
		pthread_mutex_lock(&faults.lock);
		pause_ms(ms);
		pthread_mutex_unlock(&faults.lock);
		pause_ms(2);
	}
	pthread_mutex_lock(&faults.janitor_lock);
	faults.has_janitor = false;
	pthread_mutex_unlock(&faults.janitor_lock);
	free(operation);
	return NULL;
}

static void start_janitor(const char *operation)
{
	pthread_t thread;
	char *copy = NULL;

	pthread_mutex_lock(&faults.janitor_lock);
	if (!faults.has_janitor && (copy = strdup(operation))) {
		faults.has_janitor = !pthread_create(&thread, NULL, tidy_up, copy);
		if (faults.has_janitor)
			pthread_detach(thread);
		else
			free(copy);
	}
	pthread_mutex_unlock(&faults.janitor_lock);
}

static void take_lock(void)
{
	pthread_mutex_lock(&faults.lock);
	pthread_mutex_unlock(&faults.lock);
}

void faults_inject(const char *operation)
{
	static const struct {
		const char *name;
		void (*inject)(double strength);
		double strength; /* if the file has none */
	} kinds[] = {
		{ "sleep", pause_ms, 20 }, { "compute", compute, 10 }, { "allocate", allocate, 10 },
		{ "pages", pages, 10 },    { "flush", flush, 64 },     { "journal", journal, 1 },
	};
	double strength = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		strength = kinds[i].strength;
		if (faults_find(kinds[i].name, operation, &strength))
			kinds[i].inject(strength);
	}
	if (faults_find("lock", operation, &strength)) {
		start_janitor(operation);
		take_lock();
	}
}
