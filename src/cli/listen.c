/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/listen.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/opt.h"

enum { BACKLOG = 1024 };

void listen_sockets_close(struct listen_sockets *l)
{
	for (size_t i = 0; i < l->count; i++)
		close(l->fds[i]);
	l->count = 0;
}

/* Divides "HOST:PORT", "[HOST]:PORT", ":PORT" or "PORT". */
static int split(const char *address, const char *option, char host[256], char port[8],
		 struct err *err)
{
	const char *colon = strrchr(address, ':'), *number = colon ? colon + 1 : address;
	size_t length = colon ? (size_t)(colon - address) : 0;
	bool bracket = length >= 2 && address[0] == '[' && address[length - 1] == ']';

	if (bracket) {
		address++;
		length -= 2;
	}
	if (length >= 256 || !*number || strlen(number) >= 8 ||
	    strspn(number, "0123456789") != strlen(number))
		return err_usage(err, "%s requires an address such as 127.0.0.1:4317, not '%s'",
				 option, address);
	memcpy(host, address, length);
	host[length] = '\0';
	snprintf(port, 8, "%s", number);
	return 0;
}

static int open_one(const struct addrinfo *a)
{
	int fd =
		socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
	int on = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;

	int r = -errno;

	close(fd);
	return r;
}

static void add_socket(struct listen_sockets *l, int fd)
{
	struct sockaddr_storage bound;
	socklen_t size = sizeof(bound);
	char port[8] = "0";

	if (getsockname(fd, (struct sockaddr *)&bound, &size) == 0)
		getnameinfo((struct sockaddr *)&bound, size, l->hosts[l->count],
			    sizeof(l->hosts[0]), port, sizeof(port),
			    NI_NUMERICHOST | NI_NUMERICSERV);
	l->ports[l->count] = strtoul(port, NULL, 10);
	l->fds[l->count++] = fd;
}

int listen_sockets_open(const char *address, const char *option, struct listen_sockets *ret,
			struct err *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *all = NULL;
	char host[256], port[8];
	int r = split(address, option, host, port, err), failure = 0;

	if (r < 0)
		return r;
	r = getaddrinfo(*host ? host : NULL, port, &hints, &all);
	if (r != 0)
		return err_set(err, -EINVAL, "cannot listen on '%s': %s", address, gai_strerror(r));
	*ret = (struct listen_sockets){ 0 };
	for (const struct addrinfo *a = all; a && ret->count < LISTEN_MAX; a = a->ai_next) {
		int fd = open_one(a);

		if (fd >= 0)
			add_socket(ret, fd);
		else if (fd != -EAFNOSUPPORT && fd != -EADDRNOTAVAIL)
			failure = fd;
	}
	if (!ret->count || failure) {
		listen_sockets_close(ret);
		freeaddrinfo(all);
		return err_set(err, failure ?: -EADDRNOTAVAIL, "cannot listen on '%s': %s", address,
			       strerror(failure ? -failure : EADDRNOTAVAIL));
	}
	freeaddrinfo(all);
	return 0;
}
