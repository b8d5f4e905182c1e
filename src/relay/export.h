/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export - an export request of a service, and the reply to it.
 *
 * The servers (grpc_server.h, http_server.h) decode requests to this form and call an export_fn for
 * each of them.  The reply goes back to the service in the protocol of its request.
 */
#ifndef SONDE_RELAY_EXPORT_H
#define SONDE_RELAY_EXPORT_H

#include "base/view.h"

enum otlp_signal { OTLP_TRACES, OTLP_METRICS, OTLP_LOGS, OTLP_SIGNAL_COUNT };

/* An export request of a sender, decoded to uncompressed protobuf.  Borrowed: valid during the
 * call. */
struct export_request {
	enum otlp_signal signal;
	struct view body;
	uint64_t sender; /* number of the connection */
};

enum export_status {
	EXPORT_ACCEPTED,
	EXPORT_INVALID,     /* malformed: 400, INVALID_ARGUMENT; the sender must not retry */
	EXPORT_UNAVAILABLE, /* 503, UNAVAILABLE; the sender may retry */
};

struct export_reply {
	enum export_status status;
	uint64_t rejected; /* ACCEPTED: items that were dropped all the same (partial success) */
	char message[128]; /* for the sender; "" if none */
};

typedef void export_fn(void *arg, const struct export_request *request, struct export_reply *ret);

#endif
