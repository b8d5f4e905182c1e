/* SPDX-License-Identifier: Apache-2.0 */
#include "known.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SPANS_MAX = 20000 };

static struct known ended[SPANS_MAX];
static int ended_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __thread struct known *current;
static __thread uint64_t since; /* CPU time at the last switch */

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t known_clock(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

static void account(void)
{
	uint64_t now = read_clock(CLOCK_THREAD_CPUTIME_ID);

	if (current) {
		current->cpu += now - since;
		current->switches++;
	}
	since = now;
}

void known_begin(struct known *known, struct sonde_site *site)
{
	memset(known, 0, sizeof(*known));
	known->name = site->name;
	known->tid = gettid();
	known->before = current;
	account();
	current = known;
	known->begin = known_clock();
	sonde_begin(site, &known->span);
}

void known_end(struct known *known)
{
	if (current == known) {
		account();
		current = known->before;
	}
	sonde_end(&known->span);
	known->end = known_clock();
	known->end_tid = gettid();
	pthread_mutex_lock(&lock);
	if (ended_count < SPANS_MAX)
		ended[ended_count++] = *known;
	pthread_mutex_unlock(&lock);
}

void known_leave(struct known *known)
{
	account();
	current = known->before;
	sonde_detach(&known->span);
}

void known_enter(struct known *known)
{
	known->before = current;
	account();
	current = known;
	sonde_attach(&known->span);
}

void known_burn(unsigned int us)
{
	uint64_t end = read_clock(CLOCK_THREAD_CPUTIME_ID) + us * 1000u;

	while (read_clock(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 200; i++)
			;
}

static void write_hex(FILE *file, const char *key, const uint8_t *bytes, size_t size)
{
	int any = 0;

	for (size_t i = 0; i < size; i++)
		any |= bytes[i];
	fprintf(file, "\"%s\": \"", key);
	for (size_t i = 0; any && i < size; i++)
		fprintf(file, "%02x", bytes[i]);
	fprintf(file, "\", ");
}

int known_write(const char *path)
{
	FILE *file = fopen(path, "ae");

	if (!file) {
		perror(path);
		return 1;
	}
	for (struct known *k = ended; k < ended + ended_count; k++) {
		fprintf(file, "{");
		write_hex(file, "trace", k->span.trace, 16);
		write_hex(file, "span", k->span.id, 8);
		write_hex(file, "parent", k->span.parent, 8);
		if (k->attributes[0])
			fprintf(file, "\"attributes\": {%s}, ", k->attributes);
		fprintf(file,
			"\"name\": \"%s\", \"pid\": %d, \"tid\": %d, \"end_tid\": %d, \"begin\": "
			"%ju, "
			"\"end\": %ju, \"cpu\": %ju, \"switches\": %u}\n",
			k->name, getpid(), k->tid, k->end_tid, (uintmax_t)k->begin,
			(uintmax_t)k->end, (uintmax_t)k->cpu, k->switches);
	}
	return fclose(file) != 0;
}
