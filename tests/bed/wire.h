/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire - what the services say to each other: HTTP, and the little of redis and
 * PostgreSQL that a client needs.
 *
 * Every request carries its id where only the services read it: in the path, in
 * the key, in the query.  The path is /ID/HOP; a proxy passes it on.  HOP says
 * which call of which call it is: 0 from the client, 0.1 the second call that is
 * made for that, and so on.
 */
#ifndef BED_WIRE_H
#define BED_WIRE_H

#include "base/base.h"

struct question {
	const char *id;
	const char *hop;
	bool close; /* the connection is not to be used again */
};

struct wire {
	const char *name;
	size_t (*hello)(char *buf, size_t room); /* what to say first on a connection; or NULL */
	size_t (*ask)(const struct question *q, char *buf, size_t room);
	size_t (*answer)(const char *buf, size_t used);   /* the bytes of a whole answer, or 0 */
	uint32_t (*server)(const char *buf, size_t used); /* who answered the hello; or NULL */
};

extern const struct wire wire_http, wire_redis, wire_postgres;

struct asked { /* a request, as a server finds it */
	char id[24];
	char hop[32];
	bool close;
};

size_t http_request(const char *buf, size_t used,
		    struct asked *ret); /* its bytes, or 0: not whole */
size_t http_answer(char *buf, size_t room, size_t body, bool close);

#endif
