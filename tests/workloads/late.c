/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late - a server whose clients wait although it works fast, for clients outside the recording.
 *
 *	late loop REQUESTS	an event loop that sleeps 100 ms after every 20th request
 *	late accept REQUESTS	one connection per request, and 10 ms of sleep for each
 *	late nagle REQUESTS	replies of two small parts, of which Nagle's algorithm holds the
 *second
 *
 * Listens on any port and prints "ready PORT" on stdout.  A request is 8 bytes, a reply 16.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "truth.h"

enum { REQUEST = 8, REPLY = 16, EVERY = 20 };

static int open_listener(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t size = sizeof(at);
	int listener = (int)must(socket(AF_INET, SOCK_STREAM, 0), "socket");

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(bind(listener, (struct sockaddr *)&at, size), "bind");
	must(listen(listener, 64), "listen");
	must(getsockname(listener, (struct sockaddr *)&at, &size), "getsockname");
	printf("ready %d\n", ntohs(at.sin_port));
	fflush(stdout);
	return listener;
}

/* Replies in parts of this size; returns whether there was a request. */
static bool serve(int connection, size_t part)
{
	char bytes[REPLY] = "";

	if (must(recv(connection, bytes, REQUEST, MSG_WAITALL), "recv") < REQUEST)
		return false;
	for (size_t at = 0; at < REPLY; at += part)
		must(send(connection, bytes + at, part, MSG_NOSIGNAL), "send");
	return true;
}

static void watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	must(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

static void run_loop(int listener, unsigned long requests, size_t part, bool sleeps)
{
	int epoll = (int)must(epoll_create1(0), "epoll_create1");
	struct epoll_event event;

	watch(epoll, listener);
	for (unsigned long served = 0; served < requests;) {
		must(epoll_wait(epoll, &event, 1, -1), "epoll_wait");
		if (event.data.fd == listener) {
			watch(epoll, (int)must(accept(listener, NULL, NULL), "accept"));
			continue;
		}
		if (!serve(event.data.fd, part))
			close(event.data.fd);
		else if (++served % EVERY == 0 && sleeps)
			sleep_until(now() + 100 * MSEC);
	}
}

static void run_accept(int listener, unsigned long requests)
{
	for (unsigned long i = 0; i < requests; i++) {
		int connection = (int)must(accept(listener, NULL, NULL), "accept");
		char bytes[REPLY] = "";

		must(recv(connection, bytes, REQUEST, MSG_WAITALL), "recv");
		sleep_until(now() + 10 * MSEC);
		must(send(connection, bytes, REPLY, MSG_NOSIGNAL), "send");
		close(connection);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "loop";
	unsigned long requests = number_arg(argc, argv, 2, 100);
	int listener = open_listener();

	if (strcmp(mode, "accept") == 0)
		run_accept(listener, requests);
	else if (strcmp(mode, "nagle") == 0)
		run_loop(listener, requests, REPLY / 2, false);
	else
		run_loop(listener, requests, REPLY, true);
	return 0;
}
