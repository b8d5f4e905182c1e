/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc_server - receives OTLP by gRPC: HTTP/2 without TLS, and with prior knowledge.
 *
 * A client that sends anything but HTTP/2 gets a reply in HTTP/1.1 that explains it: clients of
 * HTTP/1.1 show it, and clients that expect TLS report a server without TLS.
 *
 * A connection is read only after all replies to earlier input were sent, so a client that does not
 * read its replies stops, and its connection expires.
 */
#ifndef SONDE_RELAY_GRPC_SERVER_H
#define SONDE_RELAY_GRPC_SERVER_H

#include "relay/receive.h"

struct grpc_server;

struct grpc_server_options {
	const int
		*listeners; /* bound, listening, non-blocking; borrowed until the server is freed */
	size_t listener_count;
	struct receive_limits limits;
	struct intake *intake; /* borrowed */
	export_fn *export;
	void *arg;
};

int grpc_server_new(const struct grpc_server_options *options, struct grpc_server **ret,
		    struct err *err);
void grpc_server_free(struct grpc_server *server);
DEFINE_FREEP(grpc_server)

int grpc_server_fd(const struct grpc_server *server); /* readable if there is work */
void grpc_server_run(struct grpc_server *server);     /* never blocks */

const struct receive_counters *grpc_server_counters(const struct grpc_server *server);
size_t grpc_server_connections(const struct grpc_server *server); /* open now */

#endif
