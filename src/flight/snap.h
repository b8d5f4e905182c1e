/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snap - ask a running flight recorder for a capture: `sonde snap`.
 *
 * The flight recorder listens on a socket in the directory of its captures.  The socket has mode
 * 0600, and the server reads from the kernel which user connects: root, the user of the
 * flight recorder, and the user who called sudo for it may ask; others are disconnected.  A
 * request is one byte without meaning, so there is nothing to parse.  The reply is the path of the
 * capture, or an error.
 *
 * The client finds sockets in /proc/net/unix.  Any process can create a socket with such a name,
 * so the client takes the process id and the user of the listener from the kernel, too, and talks
 * to listeners of its own user or of root only; root may talk to all.
 */
#ifndef SONDE_FLIGHT_SNAP_H
#define SONDE_FLIGHT_SNAP_H

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

struct snap_server;

/* Create the socket.  Call it before privileges drop. */
int snap_server_new(const char *directory, struct snap_server **ret, struct err *err);
void snap_server_free(struct snap_server *s);
DEFINE_FREEP(snap_server)

/* Readable if snap_server_poll() has something to do. */
int snap_server_fd(const struct snap_server *s);

/* Accept connections and requests, without waiting.  Returns whether a request waits for a reply.
 */
bool snap_server_poll(struct snap_server *s);

/* Reply to all requests so far: a path, or with a negative code an error. */
void snap_server_reply(struct snap_server *s, int code, const char *text);

/*
 * Ask the flight recorder with this process id, or the only one if it is 0, and wait for the
 * reply.  *ret_path is owned by the caller.
 */
int snap_ask(pid_t pid, char **ret_path, struct err *err);

#endif
