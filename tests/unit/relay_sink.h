/* SPDX-License-Identifier: Apache-2.0 */
/* relay_sink - what tests of the relay's servers share: a listener, and an export function. */
#ifndef SONDE_TESTS_RELAY_SINK_H
#define SONDE_TESTS_RELAY_SINK_H

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "relay/export.h"

/* Keeps the last request, and gives the same reply to all. */
struct sink {
	uint64_t requests, bytes;
	enum otlp_signal signal;
	uint64_t sender;
	char body[64]; /* its first bytes */
	size_t size;
	struct export_reply reply;
};

static inline void sink_export(void *arg, const struct export_request *request,
			       struct export_reply *ret)
{
	struct sink *sink = arg;
	size_t n = request->body.len < sizeof(sink->body) - 1 ? request->body.len
							      : sizeof(sink->body) - 1;

	sink->requests++;
	sink->bytes += request->body.len;
	sink->signal = request->signal;
	sink->sender = request->sender;
	if (n)
		memcpy(sink->body, request->body.s, n);
	sink->body[n] = '\0';
	sink->size = request->body.len;
	*ret = sink->reply;
}

/* A listener on a free port of the loopback interface. */
static inline int listen_on_loopback(uint16_t *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) < 0 || listen(fd, 1024) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		abort();
	*ret_port = ntohs(a.sin_port);
	return fd;
}

static inline int connect_to_loopback(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		abort();
	return fd;
}

static inline nsec_t clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

#endif
