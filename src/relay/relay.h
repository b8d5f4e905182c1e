/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay - between services and their collector.
 *
 *	services ── OTLP ──► servers ─► slow? ─► hold ─► sender ── OTLP ──► collector
 *	                                  │       ▲
 *	                                  ▼       │
 *	                                 annotator (channel.h)
 *
 * Each request is checked, answered at once, and forwarded: its bytes as they came, in the order in
 * which they came.  Slow spans are shown to the annotator, and their request is held for at most
 * RELAY_HOLD, so that what the annotator knows of them can be added (hold.h).  Without an
 * annotator, nothing is held.
 *
 * A service never waits for the collector: if the queue is full, the reply to the service contains
 * the number of spans that were dropped.
 */
#ifndef SONDE_RELAY_RELAY_H
#define SONDE_RELAY_RELAY_H

#include "relay/channel.h"
#include "relay/endpoint.h"
#include "relay/receive.h"
#include "relay/sender.h"
#include "relay/slow.h"

#define RELAY_HOLD (40 * NSEC_PER_MSEC)

struct relay_options {
	const int *grpc, *http; /* listeners: bound, listening, non-blocking; borrowed */
	size_t grpc_count, http_count;
	const struct endpoints *endpoints; /* borrowed */
	struct slow *slow;                 /* borrowed */
	size_t queue_limit;                /* bytes that wait for the collector; 0: default */
	/* a page for GET, or NULL: see http_server.h */
	const char *(*page)(void *arg, const char *path, const char **ret_type);
	/* the body of a CHANNEL_STATUS */
	void (*status)(void *arg, struct view body);
	/* the body of a CHANNEL_WAKEUPS; or NULL */
	void (*wakeups)(void *arg, struct view body);
	/* a descriptor, and what to call when it is readable; NULL: there is none */
	int extra_fd;
	void (*extra)(void *arg);
	void *arg;
};

struct relay_counts {
	uint64_t received[OTLP_SIGNAL_COUNT]; /* spans, data points, log records */
	uint64_t dropped[OTLP_SIGNAL_COUNT];  /* of these, because the queue was full */
	uint64_t invalid;                     /* requests that were refused as malformed */
	uint64_t slow;                        /* spans */
	uint64_t annotated;                   /* spans that were forwarded with an annotation */
	uint64_t unasked;                     /* slow, but the annotator was missing or too busy */
	uint64_t late;                        /* annotations that came after their span had left */
	uint64_t added;                       /* spans of the annotator on their own */
	uint64_t unshared;                    /* wanted by the annotator, but above the budget */
};

struct relay;

int relay_new(const struct relay_options *options, struct relay **ret, struct err *err);
void relay_free(struct relay *relay);
DEFINE_FREEP(relay)

/* The channel to the annotator, borrowed; NULL: there is none. */
void relay_set_channel(struct relay *relay, struct channel *channel);

/*
 * Waits at most `timeout` ms (-1: no limit) for the next events and handles them.  Returns 0, or
 * -EPIPE if the annotator has ended: the channel is then no longer used.
 */
int relay_poll(struct relay *relay, int timeout);

/* Forwards what is left, for at most this time: 0, or -ETIMEDOUT if requests were left. */
int relay_finish(struct relay *relay, nsec_t timeout);

struct relay_counts relay_counts(const struct relay *relay);
struct sender_counts relay_sender_counts(const struct relay *relay, enum otlp_signal signal);
/* 0: gRPC, 1: HTTP */
const struct receive_counters *relay_receive_counters(const struct relay *relay, int server);

#endif
