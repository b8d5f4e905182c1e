/* SPDX-License-Identifier: Apache-2.0 */
/* socket_name - the addresses of a socket as text. */
#ifndef SONDE_EVENT_SOCKET_NAME_H
#define SONDE_EVENT_SOCKET_NAME_H

#include "event/event.h"

struct socket_name { /* "127.0.0.1:80", "[::1]:80", or "" if not bound or not connected */
	char local[64], peer[64];
};

void socket_name_init(struct socket_name *name, const struct socket_address *address);

#endif
