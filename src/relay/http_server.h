/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_server - receives OTLP by HTTP/1.1, as protobuf or JSON, and serves pages of the relay.
 *
 *	POST /v1/traces, /v1/metrics, /v1/logs
 *	GET, HEAD of the paths that options.page() has
 *
 * The reply has the content type of the request.  A refused request is read to its end before the
 * reply, because many clients read no reply before they have sent everything; only a body of more
 * than four times the limit ends its connection.
 *
 * Web pages of any site can let the browser post to loopback addresses.  Browsers add the header
 * Origin to such requests, so requests with this header are refused with 403, even those of the
 *same origin: a site can let its name resolve to 127.0.0.1.  Services do not send it.  Pages are
 *not protected in this way, so they must not contain secrets.
 *
 * Connections are accepted here rather than by libmicrohttpd, so that one server has several
 * listeners, and connections are limited as clients.h describes.  The library's own timeouts are
 * not used: with a timeout per connection it examines all connections in each run.
 */
#ifndef SONDE_RELAY_HTTP_SERVER_H
#define SONDE_RELAY_HTTP_SERVER_H

#include "relay/receive.h"

struct http_server;

/* Converts a request; 0, or a negative errno with a message for the sender. */
typedef int json_to_protobuf_fn(enum otlp_signal signal, struct view json, struct pb_buffer *ret,
				struct err *err);

/*
 * The text of a page, valid until the next call, and its content type.  NULL if there is no such
 * page.
 */
typedef const char *page_fn(void *arg, const char *path, const char **ret_type);

struct http_server_options {
	const int
		*listeners; /* bound, listening, non-blocking; borrowed until the server is freed */
	size_t listener_count;
	struct receive_limits limits;
	struct intake *intake; /* borrowed */
	export_fn *export;     /* NULL: pages only */
	void *arg;
	json_to_protobuf_fn *json_to_protobuf; /* NULL: JSON is not supported (415) */
	page_fn *page;                         /* NULL: no pages */
	void *page_arg;
	bool allow_origin; /* accept requests of web pages */
};

int http_server_new(const struct http_server_options *options, struct http_server **ret,
		    struct err *err);
void http_server_free(struct http_server *server);
DEFINE_FREEP(http_server)

int http_server_fd(const struct http_server *server); /* readable if there is work */
void http_server_run(struct http_server *server);     /* never blocks */

const struct receive_counters *http_server_counters(const struct http_server *server);
size_t http_server_connections(const struct http_server *server); /* open now */

/* Takes a connection that was accepted elsewhere, such as one end of a socket pair. */
void http_server_add(struct http_server *server, int fd);

#endif
