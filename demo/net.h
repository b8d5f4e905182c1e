/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net - what the demo's services share: lines of text over TCP on loopback.
 *
 * A request is a line and its answer is a line, so a conversation can be read
 * in any tool and every service fits on a few screens.  Nothing here knows of
 * sonde: these are plain programs, as it would find them anywhere.
 */
#ifndef SONDE_DEMO_NET_H
#define SONDE_DEMO_NET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct peer {
	FILE *in;
	int fd;
	char line[256]; /* the last line read, without its end */
};

/* The process ends with its parent, and within a minute whatever happens. */
void live_briefly(void);

/* Listen on a free port of 127.0.0.1 and write its number to the file, once it can be used. */
int listen_on_free_port(const char *port_file);

/* Take the next connection. The peer stays until peer_close(). */
void peer_accept(struct peer *peer, int listener);
void peer_connect(struct peer *peer, const char *port);
void peer_close(struct peer *peer);

/* Both are false when the other side is gone. */
bool peer_read(struct peer *peer);
__attribute__((format(printf, 2, 3))) bool peer_write(struct peer *peer, const char *fmt, ...);

/* Answer peer->line with a peer_write(). */
typedef void answer_fn(struct peer *peer, void *service);

/* Never returns: a thread for each connection, called NAME/1, NAME/2, ... */
void serve(int listener, const char *name, answer_fn *answer, void *service);

/* Name the calling thread NAME/NUMBER. */
void name_thread(const char *name, int number);

uint64_t now_ns(void);  /* for lengths */
uint64_t wall_ns(void); /* for points in time */

#endif
