/* SPDX-License-Identifier: Apache-2.0 */
#include "event/socket_name.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static void write_address(char *to, size_t room, unsigned family, const uint8_t *address,
			  uint16_t port)
{
	static const uint8_t zero[16];
	size_t size = family == AF_INET ? 4 : 16;
	char host[INET6_ADDRSTRLEN] = "";

	to[0] = '\0';
	if (family != AF_INET && family != AF_INET6)
		return;
	if (port == 0 && memcmp(address, zero, size) == 0)
		return; /* not bound, or not connected */
	inet_ntop(family, address, host, sizeof(host));
	snprintf(to, room, family == AF_INET ? "%s:%u" : "[%s]:%u", host, port);
}

void socket_name_init(struct socket_name *name, const struct socket_address *a)
{
	write_address(name->local, sizeof(name->local), a->family, a->local, a->local_port);
	write_address(name->peer, sizeof(name->peer), a->family, a->peer, a->peer_port);
}
