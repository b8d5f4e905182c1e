/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http - just enough HTTP/1.1 for the services of the fault lab: requests without a body, one
 * at a time on a connection.
 */
#pragma once
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static inline void http_die(const char *what)
{
	perror(what);
	exit(1);
}

static inline struct sockaddr_in http_address(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

static inline int http_listen(int port)
{
	struct sockaddr_in address = http_address(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 128) < 0)
		http_die("listen");
	return fd;
}

static inline int http_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), yes = 1;

	if (fd < 0)
		http_die("accept");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	return fd;
}

static inline int http_connect(int port)
{
	struct sockaddr_in address = http_address(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		http_die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	return fd;
}

/* Read a request, and store its path; returns 0 at the end of the connection. */
static inline int http_read(int fd, char *path, size_t size)
{
	char buffer[4096];
	size_t have = 0;

	while (have < sizeof(buffer) - 1) {
		ssize_t n = read(fd, buffer + have, sizeof(buffer) - 1 - have);
		char *end;

		if (n <= 0)
			return 0;
		have += n;
		buffer[have] = '\0';
		if (!strstr(buffer, "\r\n\r\n"))
			continue;
		end = strpbrk(buffer + 4, " \r");
		snprintf(path, size, "%.*s", (int)(end - buffer - 4), buffer + 4);
		return 1;
	}
	return 0;
}

static inline void http_reply(int fd, const char *body)
{
	char buffer[4096];
	int size = snprintf(buffer, sizeof(buffer),
			    "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);

	if (write(fd, buffer, size) != size)
		return; /* the client has left */
}

typedef void http_handler(int fd, const char *path);

struct http_connection {
	int fd;
	http_handler *handler;
};

static inline void *http_serve_connection(void *arg)
{
	struct http_connection connection = *(struct http_connection *)arg;
	char path[256];

	free(arg);
	while (http_read(connection.fd, path, sizeof(path)))
		connection.handler(connection.fd, path);
	close(connection.fd);
	return NULL;
}

/* Serve with a thread per connection. */
static inline void http_serve(int port, http_handler *handler)
{
	int listener = http_listen(port);

	for (;;) {
		struct http_connection *connection = malloc(sizeof(*connection));
		pthread_t thread;

		connection->fd = http_accept(listener);
		connection->handler = handler;
		pthread_create(&thread, NULL, http_serve_connection, connection);
		pthread_detach(thread);
	}
}

static inline void sleep_ms(double ms)
{
	struct timespec t = { (time_t)(ms / 1000), (long)(ms * 1e6) % 1000000000 };

	nanosleep(&t, NULL);
}

/* Compute for about this time. */
static inline void spin_us(double us)
{
	struct timespec start, t;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		clock_gettime(CLOCK_MONOTONIC, &t);
	} while ((t.tv_sec - start.tv_sec) * 1e6 + (t.tv_nsec - start.tv_nsec) / 1e3 < us);
}
