/* SPDX-License-Identifier: Apache-2.0 */
/* serve - a server on a loopback port, with one thread per connection. */
#ifndef SONDE_BENCH_SERVE_H
#define SONDE_BENCH_SERVE_H

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "clock.h"

static inline int listen_on(int port)
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

/* The argument of `serve` is the descriptor of a connection, which it closes. */
static inline _Noreturn void serve_connections(int port, void *(*serve)(void *))
{
	int listener = listen_on(port), on = 1;

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

#endif
