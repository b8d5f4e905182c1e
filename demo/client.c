/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client - eight threads that send requests to front, and measure the latencies.
 *
 * Each thread sends a request, waits for the reply, pauses for 30 ms on average,
 * and repeats: mostly GET /home, sometimes an import of an address book.  The run
 * is limited by time, so that a slow host serves fewer requests.
 *
 * With a third argument, it writes its requests to that file in Jaeger's format,
 * one span each, with the thread.  It prints the trace ids of a typical request
 * and of the slowest one.
 */
#include <err.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net.h"

#define PEOPLE 8
#define REQUESTS 4096   /* per person and kind, at most */
#define IMPORT_EVERY 20 /* requests */
#define IMPORT_SIZE 192 /* contacts, unless DEMO_IMPORT has another number */
#define PAUSE_US 30000  /* average pause between requests, unless DEMO_PAUSE_US has another one */

enum kind { HOME, IMPORT, KINDS };

struct request {
	uint64_t took;  /* ns */
	uint64_t start; /* ns of CLOCK_REALTIME */
	int person;
};

struct person {
	pthread_t thread;
	int number, tid;
	const char *port;
	uint64_t end;
	unsigned count[KINDS];
	struct request requests[KINDS][REQUESTS];
};

static const char *const names[KINDS] = { "GET /home", "POST /import" };

static struct person people[PEOPLE];
static int import_size = IMPORT_SIZE;
static unsigned pause_us = PAUSE_US;

static void send_request(struct person *p, struct peer *front, enum kind kind)
{
	uint64_t wall = wall_ns(), start = now_ns();
	bool sent = kind == IMPORT ? peer_write(front, "POST /import person%d %d\n", p->number,
						import_size)
				   : peer_write(front, "GET /home person%d\n", p->number);

	if (!sent || !peer_read(front))
		errx(EXIT_FAILURE, "front closed the connection");
	if (strncmp(front->line, "200 ", 4))
		errx(EXIT_FAILURE, "unexpected reply '%s' from front", front->line);
	p->requests[kind][p->count[kind]++] = (struct request){ now_ns() - start, wall, p->number };
}

static void *run_person(void *arg)
{
	struct person *p = arg;
	unsigned seed = (unsigned)p->number; /* the same run every time */
	struct peer front;

	name_thread("client", p->number);
	p->tid = gettid();
	peer_connect(&front, p->port);
	for (int turn = 2 * p->number; now_ns() < p->end && p->count[HOME] < REQUESTS; turn++) {
		send_request(p, &front, turn % IMPORT_EVERY == 0 ? IMPORT : HOME);
		usleep((unsigned)rand_r(&seed) % (2 * pause_us));
	}
	peer_close(&front);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	return (x->took > y->took) - (x->took < y->took);
}

/* Collect all requests of a kind, the fastest first; returns their number. */
static size_t gather(enum kind kind, struct request *all)
{
	size_t count = 0;

	for (int i = 0; i < PEOPLE; i++) {
		memcpy(all + count, people[i].requests[kind],
		       people[i].count[kind] * sizeof(struct request));
		count += people[i].count[kind];
	}
	qsort(all, count, sizeof(all[0]), compare);
	return count;
}

static void print_latencies(enum kind kind, const struct request *all, size_t count)
{
	if (count)
		printf("  %-14s %8zu  %8.1f  %8.1f  %8.1f\n", names[kind], count,
		       (double)all[count / 2].took / 1e6, (double)all[count * 95 / 100].took / 1e6,
		       (double)all[count - 1].took / 1e6);
}

static void write_span(FILE *file, enum kind kind, const struct request *r, const char *comma)
{
	fprintf(file,
		"%s{\"traceID\":\"%016llx%016llx\",\"spans\":[{\"traceID\":\"%016llx%016llx\","
		"\"spanID\":\"%016llx\",\"operationName\":\"%s\",\"startTime\":%.3f,"
		"\"duration\":%.3f,\"processID\":\"p1\",\"tags\":[{\"key\":\"thread.native_id\","
		"\"type\":\"int64\",\"value\":%d}]}],"
		"\"processes\":{\"p1\":{\"serviceName\":\"client\"}}}",
		comma, (unsigned long long)r->start, (unsigned long long)r->person,
		(unsigned long long)r->start, (unsigned long long)r->person,
		(unsigned long long)r->start, names[kind], (double)r->start / 1e3,
		(double)r->took / 1e3, people[r->person - 1].tid);
}

static void print_latencies_and_spans(const char *path)
{
	static struct request all[PEOPLE * REQUESTS];
	FILE *file = path ? fopen(path, "w") : NULL;
	const char *comma = "";

	if (path && !file)
		err(EXIT_FAILURE, "%s", path);
	printf("  %-14s %8s  %8s  %8s  %8s\n", "request", "count", "p50 ms", "p95 ms", "max ms");
	if (file)
		fputs("{\"data\":[", file);
	for (enum kind kind = 0; kind < KINDS; kind++) {
		size_t count = gather(kind, all);

		print_latencies(kind, all, count);
		for (size_t i = 0; file && i < count; i++, comma = ",\n")
			write_span(file, kind, &all[i], comma);
		if (kind == HOME && count)
			printf("  a typical one has trace %016llx, the slowest %016llx\n",
			       (unsigned long long)all[count / 2].start,
			       (unsigned long long)all[count - 1].start);
	}
	if (file)
		fputs("]}\n", file);
	if (file && fclose(file) != 0)
		err(EXIT_FAILURE, "%s", path);
}

int main(int argc, char **argv)
{
	if (argc != 3 && argc != 4)
		errx(2, "usage: client FRONT_PORT SECONDS [SPANS]");
	live_briefly();
	if (getenv("DEMO_IMPORT"))
		import_size = atoi(getenv("DEMO_IMPORT"));
	if (getenv("DEMO_PAUSE_US"))
		pause_us = (unsigned)atoi(getenv("DEMO_PAUSE_US"));
	for (int i = 0; i < PEOPLE; i++) {
		people[i].number = i + 1;
		people[i].port = argv[1];
		people[i].end = now_ns() + (uint64_t)(atof(argv[2]) * 1e9);
		if (pthread_create(&people[i].thread, NULL, run_person, &people[i]))
			errx(EXIT_FAILURE, "cannot start a thread");
	}
	for (int i = 0; i < PEOPLE; i++)
		pthread_join(people[i].thread, NULL);
	print_latencies_and_spans(argv[3]);
}
