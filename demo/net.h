/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net - requests and replies as lines of text over TCP on loopback.
 *
 * A request is a line, and so is its reply, so that each service fits on a few
 * screens and its traffic can be read with any tool.  Nothing here depends on
 * sonde: these are ordinary programs.
 */
#ifndef SONDE_DEMO_NET_H
#define SONDE_DEMO_NET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct peer {
	FILE *in;
	int fd;
	char line[256]; /* last line read, without its newline and trace context */
	const char
		*trace; /* trace context of the last line, after a tab in it; NULL if it has none */
};

/* End this process with its parent, and after DEMO_LIFE seconds (60) at the latest. */
void live_briefly(void);

/* Start a service: live_briefly(), and faults.h with the directory DEMO_FAULTS. */
void service_init(const char *name);

/*
 * Listen on port DEMO_PORT of the address DEMO_LISTEN, by default on a free port of 127.0.0.1, then
 * write its number to the file.
 */
int listen_on_free_port(const char *port_file);

/* Accept the next connection; peer_close() closes it. */
void peer_accept(struct peer *peer, int listener);
/* Connect to a port of the address DEMO_CALLS, by default of 127.0.0.1. */
void peer_connect(struct peer *peer, const char *port);
void peer_close(struct peer *peer);

/* Both return false if the connection is closed. */
bool peer_read(struct peer *peer);
__attribute__((format(printf, 2, 3))) bool peer_write(struct peer *peer, const char *fmt, ...);

/* Reply to the request in peer->line, with peer_write(). */
typedef void reply_fn(struct peer *peer, void *service);

/* Serve each connection in a thread, named NAME/1, NAME/2, ...; never returns. */
void serve(int listener, const char *name, reply_fn *reply, void *service);

/* Name the calling thread NAME/NUMBER. */
void name_thread(const char *name, int number);

uint64_t now_ns(void);  /* CLOCK_MONOTONIC */
uint64_t wall_ns(void); /* CLOCK_REALTIME */

#endif
