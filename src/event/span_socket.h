/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_socket - the addresses at which recorders accept the registrations of agents.
 *
 * Several recorders can run at once.  Each uses the first free number; an agent registers
 * its arena with all of them, and the recorder that records the process keeps it.
 *
 * A recorder listens in a directory that only its user can write to: /run/sonde for root,
 * and one below /run/user for other users.  So no other user can take over the address.
 * It also listens at an abstract name, for agents that cannot see these directories, such
 * as agents in containers with the network of the host.  Any process can occupy an
 * abstract name; the recorder warns if that happens, and agents register only with
 * sockets of root and of their own user.
 */
#ifndef SONDE_EVENT_SPAN_SOCKET_H
#define SONDE_EVENT_SPAN_SOCKET_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "event/span_wire.h"

/* The directory in which the recorders of a user listen. */
static inline void span_socket_directory(unsigned int user, char ret[64])
{
	if (user == 0)
		snprintf(ret, 64, "/run/sonde");
	else
		snprintf(ret, 64, "/run/user/%u/sonde", user);
}

/* The address with a number below SPAN_SOCKETS, in a directory.  Returns its size. */
static inline socklen_t span_socket_path(const char *directory, int number, struct sockaddr_un *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	snprintf(ret->sun_path, sizeof(ret->sun_path), "%.64s/" SPAN_SOCKET_NAME "%d", directory,
		 number);
	return (socklen_t)sizeof(*ret);
}

/* The abstract address with a number.  Returns its size. */
static inline socklen_t span_socket_name(int number, struct sockaddr_un *ret)
{
	const size_t size = sizeof(SPAN_SOCKET_NAME) - 1;

	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	/* an abstract name starts with a NUL and has no final one */
	memcpy(ret->sun_path + 1, SPAN_SOCKET_NAME, size);
	ret->sun_path[1 + size] = (char)('0' + number);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size + 1);
}

#endif
