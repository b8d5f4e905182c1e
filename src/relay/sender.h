/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sender - forwards export requests to the collector.
 *
 *	sender_new(&options, &sender, err);
 *	...
 *	sender_add(sender, OTLP_TRACES, &body, spans);	whenever a request arrives
 *	poll(sender_fd(sender)), sender_run(sender);	in the loop of the program
 *	...
 *	sender_finish(sender, 5 * NSEC_PER_SEC);
 *
 * Each signal has a queue and one export in flight, so requests arrive in their order.  Requests
 *that wait are merged (relay/export_queue.h): under load, exports become larger instead of more.  A
 * request stays in its queue until the collector has answered:
 *
 * - accepted: it is forwarded.  Items that the collector dropped all the same count as rejected.
 * - temporary failures (relay/reply.h), no connection, no answer: all is sent again, after 0.1 s,
 *then twice as long, up to 30 s, each shortened at random by up to a half, or after the time that
 *the collector asks for, up to a minute.  As OTLP permits, a request can arrive twice if its reply
 *was lost.
 * - rejected because of its content: a merged export is divided until the invalid request is found.
 *   This one is dropped and counted, and its message kept.
 * - refused whatever the content, such as wrong credentials: dropped and counted.
 *
 * Memory: the queues take at most `queue_limit` bytes.  One signal can use three quarters of it,
 *and any number of signals leave room for the others, so a collector that is down for metrics does
 *not cost traces.  Per signal, there is also the export in flight (`export_limit`, or the largest
 * request) and twice that with gzip, 64 KiB of reply, and libcurl's buffers.
 *
 * Nothing blocks except sender_finish(); names are resolved in a thread.  Redirects are not
 *followed: headers with credentials would go to another host.  As in SDKs, the variables
 *http_proxy, https_proxy, all_proxy and no_proxy apply, except to loopback addresses; gRPC passes a
 *proxy with CONNECT.
 */
#ifndef SONDE_RELAY_SENDER_H
#define SONDE_RELAY_SENDER_H

#include "otlp/protobuf.h"
#include "relay/endpoint.h"
#include "relay/export_queue.h"

struct sender_options {
	const struct endpoints *endpoints; /* borrowed */
	size_t queue_limit;                /* bytes of all signals; 0: 64 MiB */
	size_t export_limit;               /* bytes of a merged export; 0: 2 MiB */
	nsec_t oldest;                     /* older requests are dropped; 0: 5 min */
	nsec_t backoff;                    /* the first one; 0: 0.1 s */
};

/* Of one signal.  Accepted requests are forwarded, rejected, expired, unsent, or still queued. */
struct sender_counts {
	struct export_sum accepted;
	struct export_sum forwarded;
	struct export_sum rejected; /* by the collector */
	struct export_sum expired;
	struct export_sum unsent;          /* left when sender_finish() timed out */
	struct export_sum dropped;         /* not accepted: the queue was full */
	uint64_t exports, retries;         /* attempts, and those that failed temporarily */
	uint64_t queued;                   /* requests */
	uint64_t queued_bytes;             /* memory */
	nsec_t last_success, last_failure; /* CLOCK_MONOTONIC; 0: none */
	char last_error[512]; /* message of the last failure; escape before showing it */
};

struct sender;

int sender_new(const struct sender_options *options, struct sender **ret, struct err *err);
void sender_free(struct sender *s);
DEFINE_FREEP(sender)

/*
 * Queues a request and takes its body.  Returns 0, or -ENOBUFS if the queue is full: then the
 * request is dropped and counted, and the body freed.
 */
int sender_add(struct sender *s, enum otlp_signal signal, struct pb_buffer *body, uint64_t items);

/* Readable when there is work for sender_run(). */
int sender_fd(const struct sender *s);
void sender_run(struct sender *s);

struct sender_counts sender_counts_of(const struct sender *s, enum otlp_signal signal);

/* Sends what is queued, for at most this time: 0, or -ETIMEDOUT if requests were left. */
int sender_finish(struct sender *s, nsec_t timeout);

#endif
