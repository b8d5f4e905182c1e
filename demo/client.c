/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client - eight people at the front, and how long each answer took them.
 *
 * Each asks, reads the answer for some 30 ms, and asks again: mostly for the
 * home page, now and then to import an address book.  The run is bounded by
 * time, so a slow machine answers fewer requests rather than taking longer.
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
#define IMPORT_SIZE 64  /* contacts */
#define PAUSE_US 30000  /* on average, between requests */

enum kind { HOME, IMPORT, KINDS };

struct person {
	pthread_t thread;
	int number;
	const char *port;
	uint64_t end;
	unsigned count[KINDS];
	uint64_t took[KINDS][REQUESTS]; /* ns */
};

static void ask(struct person *p, struct peer *front, enum kind kind)
{
	uint64_t start = now_ns();
	bool sent = kind == IMPORT ? peer_write(front, "POST /import person%d %d\n", p->number,
						IMPORT_SIZE)
				   : peer_write(front, "GET /home person%d\n", p->number);

	if (!sent || !peer_read(front))
		errx(EXIT_FAILURE, "front has gone");
	if (strncmp(front->line, "200 ", 4))
		errx(EXIT_FAILURE, "front says '%s'", front->line);
	p->took[kind][p->count[kind]++] = now_ns() - start;
}

static void *live(void *arg)
{
	struct person *p = arg;
	unsigned seed = (unsigned)p->number; /* the same run every time */
	struct peer front;

	name_thread("client", p->number);
	peer_connect(&front, p->port);
	for (int turn = 2 * p->number; now_ns() < p->end && p->count[HOME] < REQUESTS; turn++) {
		ask(p, &front, turn % IMPORT_EVERY == 0 ? IMPORT : HOME);
		usleep((unsigned)rand_r(&seed) % (2 * PAUSE_US));
	}
	peer_close(&front);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void print_latencies(const struct person *people, enum kind kind, const char *name)
{
	static uint64_t all[PEOPLE * REQUESTS];
	size_t count = 0;

	for (int i = 0; i < PEOPLE; i++) {
		memcpy(all + count, people[i].took[kind], people[i].count[kind] * sizeof(uint64_t));
		count += people[i].count[kind];
	}
	if (!count)
		return;
	qsort(all, count, sizeof(all[0]), compare);
	printf("  %-14s %8zu  %8.1f  %8.1f  %8.1f\n", name, count, (double)all[count / 2] / 1e6,
	       (double)all[count * 95 / 100] / 1e6, (double)all[count - 1] / 1e6);
}

int main(int argc, char **argv)
{
	static struct person people[PEOPLE];

	if (argc != 3)
		errx(2, "usage: client FRONT_PORT SECONDS");
	live_briefly();
	for (int i = 0; i < PEOPLE; i++) {
		people[i].number = i + 1;
		people[i].port = argv[1];
		people[i].end = now_ns() + (uint64_t)(atof(argv[2]) * 1e9);
		if (pthread_create(&people[i].thread, NULL, live, &people[i]))
			errx(EXIT_FAILURE, "cannot start a thread");
	}
	for (int i = 0; i < PEOPLE; i++)
		pthread_join(people[i].thread, NULL);
	printf("  %-14s %8s  %8s  %8s  %8s\n", "request", "count", "p50 ms", "p95 ms", "max ms");
	print_latencies(people, HOME, "GET /home");
	print_latencies(people, IMPORT, "POST /import");
}
