/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link - a connection, its ends, and what was read from it and not yet taken.
 *
 * There are several ways to put bytes into a socket, and a recorder must see
 * them all: so how to send is a matter of `struct manner`.
 */
#ifndef BED_LINK_H
#define BED_LINK_H

#include <sys/types.h>

#include "log.h"

#define LINK_ROOM (256 << 10)

enum way { WAY_SEND, WAY_WRITE, WAY_WRITEV, WAY_SENDMSG, WAY_SENDFILE, WAY_SPLICE, WAY_COUNT };

extern const char *const way_names[WAY_COUNT];

struct manner {
	enum way way;
	unsigned long pieces; /* a message is sent in so many, with pauses between */
	size_t read_size;     /* at most so many bytes for a read; 0: all there are */
};

struct reading {
	uint32_t tid;
	nsec_t time; /* behind the call */
};

struct link {
	int fd;
	struct ends ends;
	struct reading first, last; /* those of the first and of the last byte in buf */
	uint32_t server;            /* the process behind it, if it said so */
	size_t used;
	char buf[LINK_ROOM];
};

/* HOST:PORT, [HOST]:PORT or unix:PATH. */
int link_listen(const char *at);
struct link *link_accept(int listener, int flags); /* NULL if nobody is there */
struct link *link_connect(const char *to, int flags);
void link_name_ends(struct link *l); /* once it is connected: who it connects */
void link_free(struct link *l);
DEFINE_FREEP(link)

/* Bytes read; 0 at the end of the stream, -EAGAIN when there are none now. Other failures end the
 * program. */
ssize_t link_read(struct link *l, const struct manner *how);
void link_take(struct link *l, size_t size); /* so many bytes in buf are done with */

/* As much as there is room for now; -EAGAIN if there is none. At most one piece. */
ssize_t link_send_some(struct link *l, const struct manner *how, const char *bytes, size_t size,
		       size_t whole);
void link_send(struct link *l, const struct manner *how, const char *bytes, size_t size);

#endif
