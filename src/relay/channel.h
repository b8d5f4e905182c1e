/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel - messages between the relay and the annotator, two processes of `sonde annotate`.
 *
 *	relay                                   annotator
 *	  ── SLOW: a ticket and slow spans ──────►
 *	  ── SPANS: all spans, if wanted ────────►
 *	  ── BUDGET: what the annotator may use ─►
 *	  ◄── ANNOTATION: ticket, index, what to add to a span ──
 *	  ◄── EXPORT: spans to send as they are ──
 *	  ◄── STATUS: counters ──
 *	  ◄── WAKEUPS: wake-up latency by service ──
 *	  ◄── WANT_SPANS: until when to send SPANS ──
 *
 * A message is a header and a body, over a socket pair.  Neither side ever waits for the other:
 * what does not fit into the queue of a side is not sent, and the caller counts it.  Either side
 * can be killed at any time; the other one reads the end of the channel.
 */
#ifndef SONDE_RELAY_CHANNEL_H
#define SONDE_RELAY_CHANNEL_H

#include "base/base.h"
#include "base/view.h"

enum channel_kind {
	/* number: ticket; time: deadline; body: an OTLP request of the size `split`, and the
	   threshold of each span in it, as nsec_t */
	CHANNEL_SLOW = 1,
	CHANNEL_SPANS = 2,      /* body: an OTLP request */
	CHANNEL_ANNOTATION = 3, /* number: ticket; index: of the span; split: size of attributes */
	CHANNEL_EXPORT = 4,     /* number: spans in it; body: an OTLP request */
	CHANNEL_STATUS = 5,     /* body: of a fixed size */
	CHANNEL_BUDGET = 6,     /* body: of a fixed size */
	CHANNEL_WANT_SPANS = 9, /* time: until then, send SPANS */
	CHANNEL_WAKEUPS = 10,   /* body: struct service_latency of each service */
};

struct channel_message {
	uint32_t size; /* of the body */
	uint32_t kind; /* enum channel_kind */
	uint64_t number;
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	uint32_t index, split;
};

/* The largest body: that of the largest request. */
enum { CHANNEL_BODY_MAX = 17 << 20 };

struct channel;

/* Takes the descriptor of a socket.  `queue_max`: bytes that wait for the other side. */
struct channel *channel_new(int fd, size_t queue_max);
void channel_free(struct channel *c);
DEFINE_FREEP(channel)

int channel_fd(const struct channel *c);
bool channel_has_queued(const struct channel *c); /* wait for POLLOUT, too */

/* -ENOBUFS if the queue is full; a failure of the socket is reported by channel_receive(). */
int channel_send(struct channel *c, const struct channel_message *head, struct view body);

/* Sends what is queued, as far as possible. */
void channel_flush(struct channel *c);

/*
 * The next message: 1; 0 if there is none yet; -EPIPE if the other side has ended, -EBADMSG if it
 * sends nonsense.  The body is valid until the next call.
 */
int channel_receive(struct channel *c, struct channel_message *ret, struct view *ret_body);

#endif
