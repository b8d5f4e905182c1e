/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_socket - where recorders listen for agents that offer them an arena.
 *
 * Several may record at once.  Each takes the first of these names that is free;
 * an agent offers its arena at all of them, and who records that process takes
 * it.
 */
#ifndef SONDE_EVENT_SPAN_SOCKET_H
#define SONDE_EVENT_SPAN_SOCKET_H

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "event/span_wire.h"

/* The name of this number, below SPAN_SOCKETS. Returns its size. */
static inline socklen_t span_socket_name(int number, struct sockaddr_un *ret)
{
	const size_t size = sizeof(SPAN_SOCKET_NAME) - 1;

	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	/* abstract: a 0 before the name, and none behind it */
	memcpy(ret->sun_path + 1, SPAN_SOCKET_NAME, size);
	ret->sun_path[1 + size] = (char)('0' + number);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size + 1);
}

#endif
