/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link - a connection, with a buffer of bytes that were read and not processed yet.
 *
 * Several system calls put bytes into a socket, and the recorder must handle them all.  `struct
 * io_style` selects one.
 */
#ifndef BED_LINK_H
#define BED_LINK_H

#include <sys/types.h>

#include "log.h"

#define LINK_ROOM (256 << 10)

enum way { WAY_SEND, WAY_WRITE, WAY_WRITEV, WAY_SENDMSG, WAY_SENDFILE, WAY_SPLICE, WAY_COUNT };

extern const char *const way_names[WAY_COUNT];

struct io_style {
	enum way way;
	unsigned long pieces; /* number of pieces to send a message in, with pauses between */
	size_t read_size;     /* maximum bytes of a read; 0: no limit */
};

struct reading {
	uint32_t tid;
	nsec_t time; /* after the system call */
};

struct link {
	int fd;
	struct ends ends;
	struct reading first, last; /* the reads of the first and of the last byte in buf */
	uint32_t server;            /* pid of the peer, if the handshake names it; otherwise 0 */
	size_t used;
	char buf[LINK_ROOM];
};

/* HOST:PORT, [HOST]:PORT or unix:PATH. */
int link_listen(const char *at);
struct link *link_accept(int listener, int flags); /* NULL if there is none */
struct link *link_connect(const char *to, int flags);
void link_name_ends(struct link *l); /* once connected: set `ends` */
void link_free(struct link *l);
DEFINE_FREEP(link)

/*
 * Returns the bytes read, 0 at the end of the stream, or -EAGAIN.  Other failures end the program.
 */
ssize_t link_read(struct link *l, const struct io_style *how);
void link_take(struct link *l, size_t size); /* remove bytes from the start of buf */

/* Sends at most one piece, as far as the socket has room; -EAGAIN if it has none. */
ssize_t link_send_some(struct link *l, const struct io_style *how, const char *bytes, size_t size,
		       size_t whole);
void link_send(struct link *l, const struct io_style *how, const char *bytes, size_t size);

#endif
