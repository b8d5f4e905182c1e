/* SPDX-License-Identifier: Apache-2.0 */
/* grpc_client - a small client of gRPC, for tests of the server: several calls on one connection.
 */
#ifndef SONDE_TESTS_GRPC_CLIENT_H
#define SONDE_TESTS_GRPC_CLIENT_H

#include <nghttp2/nghttp2.h>

#include "base/vec.h"
#include "base/view.h"

#define TRACE_METHOD "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
#define METRICS_METHOD "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
#define LOGS_METHOD "/opentelemetry.proto.collector.logs.v1.LogsService/Export"

struct grpc_call {
	/* Set before the call; NULL for the usual value. */
	const char *path, *type, *encoding, *method;
	struct view body; /* with the prefix; borrowed */
	size_t piece;     /* bytes of the largest DATA frame; 0: as the protocol allows */
	bool stays_open;  /* sends the body, but not the end of the stream */
	/* The result. */
	bool is_closed;
	uint32_t error;               /* of RST_STREAM */
	int http_status, grpc_status; /* -1 if there is none */
	char message[256];            /* still encoded */
	uint8_t reply[256];           /* with its prefix */
	size_t reply_size;
	/* Private. */
	int32_t id;
	size_t sent;
};

struct grpc_client {
	int fd; /* -1 after the server has closed the connection */
	nghttp2_session *http2;
	uint32_t goaway; /* error code of GOAWAY */
	bool has_goaway;
	struct view unsent; /* frames of nghttp2 */
};

/* Takes a connected socket. */
void grpc_client_init(struct grpc_client *client, int fd);
void grpc_client_done(struct grpc_client *client);

/* The call is borrowed until it is closed. */
void grpc_client_start(struct grpc_client *client, struct grpc_call *call);

/* Sends and receives what is possible without waiting. */
void grpc_client_work(struct grpc_client *client);

/* A message with its prefix, which the caller frees. */
struct view grpc_frame(struct view message, bool is_compressed);

#endif
