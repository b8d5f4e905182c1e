/* SPDX-License-Identifier: Apache-2.0 */
#include "true_span.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SPANS_MAX = 20000 };

static struct true_span ended[SPANS_MAX];
static int ended_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __thread struct true_span *current;
static __thread uint64_t since; /* CPU time at the last switch */

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t true_span_clock(void)
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

void true_span_begin(struct true_span *s, struct sonde_site *site)
{
	memset(s, 0, sizeof(*s));
	s->name = site->name;
	s->tid = gettid();
	s->before = current;
	account();
	current = s;
	s->begin = true_span_clock();
	sonde_begin(site, &s->span);
}

void true_span_end(struct true_span *s)
{
	if (current == s) {
		account();
		current = s->before;
	}
	sonde_end(&s->span);
	s->end = true_span_clock();
	s->end_tid = gettid();
	pthread_mutex_lock(&lock);
	if (ended_count < SPANS_MAX)
		ended[ended_count++] = *s;
	pthread_mutex_unlock(&lock);
}

void true_span_detach(struct true_span *s)
{
	account();
	current = s->before;
	sonde_detach(&s->span);
}

void true_span_attach(struct true_span *s)
{
	s->before = current;
	account();
	current = s;
	sonde_attach(&s->span);
}

void burn_cpu(unsigned int us)
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

int true_span_write(const char *path)
{
	FILE *file = fopen(path, "ae");

	if (!file) {
		perror(path);
		return 1;
	}
	for (struct true_span *k = ended; k < ended + ended_count; k++) {
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
