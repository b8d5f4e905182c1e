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

/*
 * The thread is about to switch to another current span by a call to sonde.h.  CPU time in
 * the call may be attributed to either span: an interrupt or the hypervisor can make it long.
 */
static void before_switch(void)
{
	uint64_t now = read_clock(CLOCK_THREAD_CPUTIME_ID);

	if (current) {
		current->cpu += now - since;
		current->switches++;
	}
	since = now;
}

static void after_switch(struct true_span *next)
{
	uint64_t now = read_clock(CLOCK_THREAD_CPUTIME_ID);

	if (current)
		current->cpu_in_calls += now - since;
	if (next)
		next->cpu_in_calls += now - since;
	since = now;
	current = next;
}

void true_span_begin(struct true_span *s, struct sonde_site *site)
{
	memset(s, 0, sizeof(*s));
	s->name = site->name;
	s->tid = gettid();
	s->before = current;
	before_switch();
	s->begin_call = true_span_clock();
	sonde_begin(site, &s->span);
	s->begin = true_span_clock();
	after_switch(s);
}

void true_span_end(struct true_span *s)
{
	bool is_switch = current == s;

	if (is_switch)
		before_switch();
	s->end_call = true_span_clock();
	sonde_end(&s->span);
	s->end = true_span_clock();
	if (is_switch)
		after_switch(s->before);
	s->end_tid = gettid();
	pthread_mutex_lock(&lock);
	if (ended_count < SPANS_MAX)
		ended[ended_count++] = *s;
	pthread_mutex_unlock(&lock);
}

void true_span_detach(struct true_span *s)
{
	before_switch();
	sonde_detach(&s->span);
	after_switch(s->before);
}

void true_span_attach(struct true_span *s)
{
	s->before = current;
	before_switch();
	sonde_attach(&s->span);
	after_switch(s);
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
			"\"name\": \"%s\", \"pid\": %d, \"tid\": %d, \"end_tid\": %d, "
			"\"begin_call\": %ju, \"begin\": %ju, \"end_call\": %ju, \"end\": %ju, "
			"\"cpu\": %ju, \"cpu_in_calls\": %ju, \"switches\": %u}\n",
			k->name, getpid(), k->tid, k->end_tid, (uintmax_t)k->begin_call,
			(uintmax_t)k->begin, (uintmax_t)k->end_call, (uintmax_t)k->end,
			(uintmax_t)k->cpu, (uintmax_t)k->cpu_in_calls, k->switches);
	}
	return fclose(file) != 0;
}
