/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire - the protocols between services: HTTP, and a minimum of redis and PostgreSQL.
 *
 * Every request carries its id in the payload: in the path, the key or the query.  An HTTP path is
 * /ID/HOP, which proxies pass on.  HOP is the position in the tree of calls: 0 from the client, 0.1
 * the second call for that request, and so on.
 */
#ifndef BED_WIRE_H
#define BED_WIRE_H

#include "base/base.h"

struct call_head {
	const char *id;
	const char *hop;
	bool close; /* close the connection after the reply */
};

struct wire {
	const char *name;
	size_t (*format_handshake)(char *buf, size_t room); /* NULL if there is none */
	size_t (*format_call)(const struct call_head *q, char *buf, size_t room);
	size_t (*reply_size)(const char *buf, size_t used); /* of a whole reply, or 0 */
	uint32_t (*server)(const char *buf,
			   size_t used); /* pid in the reply to the handshake; or NULL */
};

extern const struct wire wire_http, wire_redis, wire_postgres;

struct http_call { /* a received request */
	char id[24];
	char hop[32];
	bool close;
};

size_t http_request(const char *buf, size_t used,
		    struct http_call *ret); /* its bytes; 0 if incomplete */
size_t http_format_reply(char *buf, size_t room, size_t body, bool close);

#endif
