/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reply - what the collector answers to an export request.
 *
 * With HTTP, the status code decides; the body is an Export*ServiceResponse, or a google.rpc.Status
 * if the request failed.  With gRPC, the status is in the trailers, which curl passes as headers
 * after the body, and a base64 google.rpc.Status beside it has the details.  Which codes are worth
 * a retry is in the OTLP specification.
 *
 * Everything is untrusted.  At most REPLY_MAX bytes of a body are kept; texts are cut off and
 * contain no control characters.
 */
#ifndef SONDE_RELAY_REPLY_H
#define SONDE_RELAY_REPLY_H

#include "relay/endpoint.h"

enum { REPLY_MAX = 64 << 10 };

enum reply_verdict {
	REPLY_ACCEPTED,
	REPLY_RETRY,    /* the same request can succeed later */
	REPLY_REJECTED, /* because of its content: a part of the request can succeed */
	REPLY_REFUSED,  /* whatever its content: no credentials, no such service */
	REPLY_MISSING,  /* none, or not all of it; worth a retry */
};

struct collector_reply {
	char message[256]; /* for people; "" if there is none */
	uint64_t rejected; /* ACCEPTED: number of items that the collector dropped all the same */
	nsec_t delay;      /* RETRY: how long the collector asks to wait; 0 if it does not */

	/* Private. */
	int grpc_status; /* -1 if there is none */
	bool is_protobuf, has_retry_info;
	uint8_t *body; /* NULL or REPLY_MAX bytes */
	size_t size;
};

/* Before each request.  An all-zero reply is empty. */
void reply_reset(struct collector_reply *reply);
void reply_done(struct collector_reply *reply);

/* A line of the headers or trailers, including its line break. */
void reply_add_header(struct collector_reply *reply, struct view line);
void reply_add_body(struct collector_reply *reply, struct view bytes);

/* After the reply is complete; fills in message, rejected and delay. */
enum reply_verdict reply_judge(struct collector_reply *reply, enum otlp_protocol protocol,
			       unsigned http_status);

#endif
