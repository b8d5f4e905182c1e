/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snap - ask a running flight recorder for a capture: `sonde snap`.
 *
 * The flight recorder listens on a control socket (base/control.h) in the directory of its
 * captures. A request is one byte without meaning, so there is nothing to parse.  The reply is the
 * path of the capture, or an error.  The client finds sockets in /proc/net/unix.
 */
#ifndef SONDE_FLIGHT_SNAP_H
#define SONDE_FLIGHT_SNAP_H

#include <sys/types.h>

#include "base/control.h"
#include "base/err.h"

/* Create the socket.  Call it before privileges drop. */
int snap_server_new(const char *directory, struct control_server **ret, struct err *err);

/* Reply to all requests so far: a path, or with a negative code an error. */
void snap_server_reply(struct control_server *s, int code, const char *text);

/*
 * Ask the flight recorder with this process id, or the only one if it is 0, and wait for the
 * reply.  *ret_path is owned by the caller.
 */
int snap_ask(pid_t pid, char **ret_path, struct err *err);

#endif
