/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc_stream - one call of a gRPC client: its headers, its message, and the result.
 *
 * An export is a unary call: a POST to /PACKAGE.SERVICE/Export whose body is one message, after a
 * prefix of five bytes (a flag for compression, and the length).  The message is split over DATA
 * frames at any offset.
 */
#ifndef SONDE_RELAY_GRPC_STREAM_H
#define SONDE_RELAY_GRPC_STREAM_H

#include "relay/receive.h"

enum grpc_status {
	GRPC_OK = 0,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
};

enum grpc_encoding { GRPC_IDENTITY, GRPC_GZIP, GRPC_UNKNOWN_ENCODING };

enum { GRPC_PREFIX = 5 }; /* bytes */

struct grpc_stream {
	int32_t id;
	struct grpc_stream *previous, *next;

	/* The request.  The signal is OTLP_SIGNAL_COUNT for other methods. */
	enum otlp_signal signal;
	bool is_post, is_grpc;
	enum grpc_encoding encoding;
	uint8_t prefix[GRPC_PREFIX];
	size_t prefix_size;
	size_t length; /* of the message */
	struct body body;
	bool is_complete; /* the client has sent everything */

	/* The reply. */
	bool is_replied;
	unsigned int http_status; /* 200, or an error for clients that do not use gRPC */
	enum grpc_status status;
	char message[160];
	struct pb_buffer response; /* with its prefix; empty unless GRPC_OK */
	size_t sent;               /* bytes of it */
};

/* NULL if the intake has no room for another stream. */
struct grpc_stream *grpc_stream_new(int32_t id, struct intake *intake);
void grpc_stream_free(struct grpc_stream *stream, struct intake *intake);

void grpc_stream_header(struct grpc_stream *stream, struct view name, struct view value);

/* These return false if the call has failed: status and message are set, and it was counted. */
bool grpc_stream_headers_end(struct grpc_stream *stream, struct receiver *receiver);
bool grpc_stream_data(struct grpc_stream *stream, struct receiver *receiver, const uint8_t *data,
		      size_t len);

/* Handles the complete call; sets status, message and response. */
void grpc_stream_end(struct grpc_stream *stream, struct receiver *receiver, uint64_t sender);

#endif
