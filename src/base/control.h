/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control - requests of other commands to a running one, over a Unix socket.
 *
 * The server listens on a path, or on an abstract name, which begins with '@'.  A socket in the
 * file system has mode 0600.  In either case the server reads from the kernel which user connects:
 * root, the user of the server, and the user who called sudo for it may send requests; others are
 * disconnected.  A request is one message, and so is its reply: a code and a text.
 *
 * The server never waits.  If it has CONTROL_CLIENTS connections, another one replaces those that
 * have sent nothing yet, so a silent client delays no other.
 *
 * Any process can create a socket with any name, so the client reads the process id and the user of
 * the listener from the kernel, too, and talks to listeners of its own user or of root only; root
 * may talk to all.
 */
#ifndef SONDE_BASE_CONTROL_H
#define SONDE_BASE_CONTROL_H

#include <limits.h>
#include <sys/types.h>

#include "base/base.h"
#include "base/view.h"

enum {
	CONTROL_REQUEST_MAX = 128 << 10, /* bytes of a request, which has at least one */
	CONTROL_CLIENTS = 8,
};

struct control_server;

/* Create the socket.  Call it before privileges drop.  Negative errno on failure. */
int control_server_new(const char *address, struct control_server **ret);
void control_server_free(struct control_server *s);
DEFINE_FREEP(control_server)

/* Readable if control_server_poll() has something to do. */
int control_server_fd(const struct control_server *s);

/* Accept connections and requests, without waiting.  Returns whether a request waits for a reply.
 */
bool control_server_poll(struct control_server *s);

/* The request that control_server_reply() replies to; false if none waits. */
bool control_server_next(const struct control_server *s, struct view *ret);

/* A text, or with a negative code the message of an error. */
void control_server_reply(struct control_server *s, int code, const char *text);

struct control_peer {
	pid_t pid; /* of the process that listens */
	uid_t uid;
};

struct control_reply {
	int32_t code; /* 0, or a negative errno */
	char text[PATH_MAX];
};

/* The descriptor of a connection; -EPERM if the listener belongs to another user. */
int control_connect(const char *address, struct control_peer *ret_peer);

/*
 * Send a request, and wait at most `timeout` (0: no limit) for the reply.  -EPIPE if the server has
 * ended, -EAGAIN if it does not reply in time.  -EBADMSG if the reply contains control
 * characters.
 */
int control_ask(int fd, struct view request, nsec_t timeout, struct control_reply *ret);

#endif
