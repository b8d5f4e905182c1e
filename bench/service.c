/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service - a web service that computes for a given time on each request.
 *
 * There is one thread per connection; each request is a blocking read, some work
 * and a write.  The work is a fixed number of steps, calibrated at the start, so
 * that recording cannot change the amount of work.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "clock.h"

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

static int listen_on(int port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 128))
		die("cannot listen");
	return fd;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: bench-service PORT MICROSECONDS\n");
		return 2;
	}
	steps = steps_for(strtoul(argv[2], NULL, 10) * NSEC_PER_USEC);

	int listener = listen_on(atoi(argv[1])), on = 1;
	for (;;) {
		pthread_t thread;
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			die("cannot accept a connection");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd))
			die("cannot start a thread");
		pthread_detach(thread);
	}
}
