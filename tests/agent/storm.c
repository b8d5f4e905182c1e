/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storm - a server that handles each request in a new child or thread.
 *
 * Prints the loopback port on which it listens.  A client sends one byte, `f` for a
 * forked child or `t` for a thread, and a number in four bytes; the reply is the same.
 * Exits when its standard input ends.  Its spans are those of sonde.h.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/sonde.h"

struct request {
	char how;
	char number[4];
} __attribute__((packed));

/* Reply to a request; the attribute `how` tells children from threads. */
static void reply(int fd, const struct request *request)
{
	struct sonde_span serve, work;

	SONDE_BEGIN(&serve, "serve");
	sonde_set_string(&serve, "how", request->how == 'f' ? "child" : "thread");
	for (int i = 0; i < 3; i++) {
		SONDE_BEGIN(&work, "work");
		usleep(50);
		sonde_end(&work);
	}
	if (write(fd, request, sizeof(*request)) != sizeof(*request))
		sonde_set_error(&serve);
	sonde_end(&serve);
}

struct job {
	int fd;
	struct request request;
};

static void *in_thread(void *arg)
{
	struct job *job = arg;

	reply(job->fd, &job->request);
	close(job->fd);
	free(job);
	return NULL;
}

static void start_thread(int fd, const struct request *request)
{
	struct job *job = malloc(sizeof(*job));
	pthread_attr_t detached;
	pthread_t thread;

	*job = (struct job){ fd, *request };
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &detached, in_thread, job)) {
		close(fd);
		free(job);
	}
	pthread_attr_destroy(&detached);
}

static void serve(int fd)
{
	struct sonde_span span;
	struct request request;

	SONDE_BEGIN(&span, "accept");
	if (read(fd, &request, sizeof(request)) != sizeof(request)) {
		close(fd);
	} else if (request.how == 't') {
		start_thread(fd, &request);
	} else {
		if (fork() == 0) {
			reply(fd, &request);
			_exit(0);
		}
		close(fd);
	}
	sonde_end(&span);
}

static int listen_on_loopback(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(s, (struct sockaddr *)&address, size) < 0 || listen(s, 128) < 0 ||
	    getsockname(s, (struct sockaddr *)&address, &size) < 0) {
		perror("storm");
		exit(1);
	}
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	return s;
}

int main(void)
{
	struct pollfd wait[2] = { { .fd = 0, .events = POLLIN },
				  { .fd = listen_on_loopback(), .events = POLLIN } };

	signal(SIGCHLD, SIG_IGN); /* no zombies */
	while (poll(wait, 2, -1) >= 0 && !wait[0].revents) {
		int fd = wait[1].revents ? accept(wait[1].fd, NULL, NULL) : -1;

		if (fd >= 0)
			serve(fd);
	}
	return 0;
}
