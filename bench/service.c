/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service - a web service that computes for a given time on each request.
 *
 * There is one thread per connection; each request is a blocking read, some work
 * and a write.  The work is a fixed number of steps, calibrated at the start, so
 * that recording cannot change the amount of work.
 */
#include "clock.h"
#include "serve.h"

static unsigned long steps; /* steps of work per request; set once */

static void work(unsigned long count)
{
	for (volatile unsigned long i = 0; i < count;)
		i = i + 1;
}

/* The fastest trial is the least disturbed one. */
static unsigned long steps_for(nsec_t wanted)
{
	const unsigned long trial = 2000000;
	nsec_t best = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		nsec_t start = clock_now(CLOCK_THREAD_CPUTIME_ID);
		work(trial);
		nsec_t took = clock_now(CLOCK_THREAD_CPUTIME_ID) - start;
		best = took < best ? took : best;
	}
	return trial * wanted / best;
}

/* wrk sends a request at once and waits for the reply, so a read is a request. */
static void *serve(void *arg)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";
	char request[4096];
	int fd = (int)(intptr_t)arg;

	while (read(fd, request, sizeof(request)) > 0) {
		work(steps);
		if (write(fd, answer, sizeof(answer) - 1) < 0)
			break;
	}
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: bench-service PORT MICROSECONDS\n");
		return 2;
	}
	steps = steps_for(strtoul(argv[2], NULL, 10) * NSEC_PER_USEC);
	serve_connections(atoi(argv[1]), serve);
}
