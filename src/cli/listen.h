/* SPDX-License-Identifier: Apache-2.0 */
/* listen - sockets that listen on an address of the command line. */
#ifndef SONDE_CLI_LISTEN_H
#define SONDE_CLI_LISTEN_H

#include "base/err.h"
#include "relay/endpoint.h"

enum { LISTEN_MAX = 8 };

struct listen_sockets {
	int fds[LISTEN_MAX];
	size_t count;
	char hosts[LISTEN_MAX][64]; /* as numbers */
	uint16_t ports[LISTEN_MAX];
};

/* "[HOST]:PORT" or "PORT"; without a host, on the loopback addresses of IPv4 and IPv6. */
int listen_sockets_open(const char *address, const char *option, struct listen_sockets *ret,
			struct err *err);
void listen_sockets_close(struct listen_sockets *l);

#endif
