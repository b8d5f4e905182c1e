/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listeners - the TCP ports that accept connections, in the network namespaces of the recorded
 * processes.
 *
 * Of a connection that was open when recording started, a trace does not contain which end
 * accepted it.  If one of its ports has a listener, that end is the server.
 */
#ifndef SONDE_RECORD_LISTENERS_H
#define SONDE_RECORD_LISTENERS_H

#include "base/base.h"
#include "base/err.h"
#include "base/map.h"
#include "event/event.h"

struct listeners {             /* empty if all zero */
	struct map namespaces; /* inode numbers of those that were read */
};

void listeners_done(struct listeners *l);

typedef int listener_fn(void *arg, const struct record_socket_state *state, struct err *err);

/*
 * Call fn for each listener in the network namespace of a process, if no process of that namespace
 * was passed before.  Costs a readlink() for other processes.  Stops if fn fails.
 */
int listeners_read(struct listeners *l, uint32_t pid, nsec_t now, listener_fn *fn, void *arg,
		   struct err *err);

/* A line of /proc/PID/net/tcp or tcp6; false if it is not a listener. */
bool listeners_parse(const char *line, uint16_t family, struct record_socket_state *ret);

#endif
