/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive - what the servers of the relay have in common: limits, counters and memory.
 *
 * Any process that reaches a listener can send anything.  So everything that a sender can make the
 * relay hold is limited, and what is refused is counted.  The memory of all servers of a relay is
 * bounded by
 *
 *	the intake (64 MiB): unfinished requests, open streams, unsent replies
 *	+ 10,000 connections of each server: 32 KiB each for gRPC, 17 KiB for HTTP; idle ones of
 *	  gRPC use 14 KiB
 *	+ one request at a time that is handled: its decompressed body (16 MiB), and what JSON is
 *	  converted to
 *
 * An empty intake is zero-initialised; the relay has one, for all its servers.
 */
#ifndef SONDE_RELAY_RECEIVE_H
#define SONDE_RELAY_RECEIVE_H

#include "base/err.h"
#include "otlp/protobuf.h"
#include "relay/export.h"

/* A field that is 0 has the default. */
struct receive_limits {
	size_t message;         /* bytes of a request, also when decompressed: 16 MiB */
	size_t connections;     /* of a server: 10,000 */
	uint32_t streams;       /* open at once in a connection of gRPC: 128 */
	size_t output;          /* unsent bytes of a connection of gRPC: 256 KiB */
	nsec_t request_timeout; /* for progress of a request or reply: 10 s (clients.h) */
	nsec_t idle_timeout;    /* of a connection without requests: 5 min */
};

#define INTAKE_MEMORY ((size_t)64 << 20)

/* Shared by all servers of a relay.  Zero-initialised, it has the default limit. */
struct intake {
	size_t limit;         /* bytes; 0: INTAKE_MEMORY */
	size_t used;          /* bytes */
	uint64_t last_sender; /* number of the newest connection */
	uint64_t refused;     /* number of requests and replies without room */
};

/* Reserves bytes; false, and counted, if they exceed the limit. */
bool intake_take(struct intake *intake, size_t bytes);
void intake_give_back(struct intake *intake, size_t bytes);

struct receive_counters {
	uint64_t connections;         /* accepted */
	uint64_t connections_refused; /* closed at once: all others were busy */
	uint64_t connections_evicted; /* idle ones, closed to accept another one */
	uint64_t connections_expired; /* without progress of a request or reply */
	uint64_t connections_idle;    /* closed after the idle timeout */
	uint64_t connections_foreign; /* another protocol, such as HTTP/1.1 or TLS to gRPC */
	uint64_t protocol_errors;     /* connections with malformed or too many frames */
	uint64_t output_overflows;    /* connections closed because the sender reads no replies */

	uint64_t accepted;       /* export requests, as all below */
	uint64_t rejected_items; /* of accepted requests */
	uint64_t invalid;        /* malformed: encoding, framing or content */
	uint64_t unavailable;    /* refused by the export function */
	uint64_t too_large;
	uint64_t no_memory;      /* refused because the intake is full */
	uint64_t unsupported;    /* unknown path, method, content type or encoding */
	uint64_t cross_origin;   /* posted by a web page */
	uint64_t incomplete;     /* connection or stream closed before the end of the request */
	uint64_t received_bytes; /* of complete requests, as sent */
};

/* The part of a server that handles requests. */
struct receiver {
	struct receive_limits limits;
	struct receive_counters counters;
	struct intake *intake; /* borrowed */
	export_fn *export;
	void *arg;
};

/* Fills in default limits. */
void receiver_init(struct receiver *receiver, const struct receive_limits *limits,
		   struct intake *intake, export_fn *export, void *arg);

/* A request, or a part of it, whose memory the intake counts.  Zero-initialised, it is empty. */
struct body {
	uint8_t *data;
	size_t size, room;
};

void body_done(struct body *body, struct intake *intake);

/*
 * Appends bytes.  `expected` is the size of the whole body, as far as it is known: the buffer grows
 * to it and not beyond.  Returns 0, or -ENOBUFS if the intake is full.
 */
int body_append(struct body *body, struct intake *intake, const void *data, size_t size,
		size_t expected);

/* Decompresses a body.  Returns 0, -EMSGSIZE or -EBADMSG, counted. */
int receiver_inflate(struct receiver *receiver, struct view packed, struct pb_buffer *ret,
		     struct err *err);

/* Calls the export function, and counts its reply. */
void receiver_export(struct receiver *receiver, const struct export_request *request,
		     struct export_reply *ret);

/* Appends the Export*ServiceResponse to an accepted request. */
void receiver_put_response(struct pb_buffer *out, const struct export_reply *reply);

#endif
