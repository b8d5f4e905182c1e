/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clients - the connections of a server: accepted, counted, and closed in time.
 *
 * A connection is busy from its start to the end of its first request, and whenever a request or a
 * reply is incomplete; otherwise it is idle.  A busy connection is closed if it makes no progress
 * for a while.  Progress is the end of a request, or PROGRESS_BYTES of one: single bytes that
 * arrive now and then do not keep a connection open.
 *
 * If all connections are in use, or all descriptors of the process, a new connection replaces the
 * one that has been idle for the longest time.  The SDK behind that connection opens another one
 * for its next export, whereas if the new connection were refused, connections that send nothing
 * would keep all others out.  If no connection is idle, the new one is closed.
 *
 * Connections are in two lists, busy and idle, each in the order of time.  So only the first of
 * each list is ever examined, however many there are.
 */
#ifndef SONDE_RELAY_CLIENTS_H
#define SONDE_RELAY_CLIENTS_H

#include <sys/epoll.h>

#include "relay/receive.h"

enum { PROGRESS_BYTES = 16 << 10 };

enum client_state { CLIENT_CLOSING, CLIENT_BUSY, CLIENT_IDLE, CLIENT_STATE_COUNT };

/* First member of a server's own structure for a connection. */
struct client {
	uint64_t number;
	enum client_state state;
	nsec_t since;    /* time of the last progress or, if idle, of the end of the last request */
	size_t received; /* bytes since then */
	struct client *older, *newer;
};

struct client_list {
	struct client *oldest, *newest;
};

struct clients {
	struct receiver *receiver; /* borrowed */
	int epoll;                 /* has the listeners and the timer, and what the server adds */
	int timer;
	nsec_t now, due; /* time of this call of X_run(), and of the timer */
	int *listeners;
	size_t listener_count, count;
	nsec_t paused_until; /* no descriptors left for accept(); 0 if not paused */
	struct client_list lists[CLIENT_STATE_COUNT];

	/* Takes a new connection. */
	void (*open)(void *arg, int fd);
	/* The client is CLIENT_CLOSING; the server removes it when nothing refers to it any more.
	 */
	void (*close)(void *arg, struct client *client);
	void *arg;
};

/* Listeners are bound, listening and non-blocking; they are borrowed.  Set open, close, arg before.
 */
int clients_init(struct clients *c, struct receiver *receiver, const int *listeners, size_t count,
		 struct err *err);
void clients_done(struct clients *c);

/* Reads the clock; call first in X_run(). */
void clients_begin(struct clients *c);
/* Handles an event of epoll, if it is one of a listener or the timer. */
bool clients_handle(struct clients *c, const struct epoll_event *event);
/* Sets the timer; call last in X_run().  If `wake`, the descriptor stays readable. */
void clients_end(struct clients *c, bool wake);

void clients_add(struct clients *c, struct client *client); /* as a busy one */
void clients_remove(struct clients *c, struct client *client);

/* Calls close(), unless this was done before. */
void client_close(struct clients *c, struct client *client);

void client_set_busy(struct clients *c, struct client *client);
void client_set_idle(struct clients *c, struct client *client);
/* Bytes of a request have arrived. */
void client_progress(struct clients *c, struct client *client, size_t bytes);

#endif
