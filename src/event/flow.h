/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow - which receive got the bytes of which send.
 *
 * A flow is one direction of a connection.  Both ends count its bytes alike
 * (TCP by sequence numbers), so a receive belongs to the send that holds its
 * last byte, however the bytes were cut on the way.  The record of a send may
 * come after that of its receive, since it is made when the send returns;
 * whichever comes second finds the other.
 *
 * A connection often has one message under way, or none, and there are many
 * connections.  So what waits for its other side stands in one pool for all of
 * them, each flow having two short lists in it.
 */
#ifndef SONDE_EVENT_FLOW_H
#define SONDE_EVENT_FLOW_H

#include "base/base.h"
#include "base/map.h"
#include "base/vec.h"
#include "event/event.h"

/* One side of a message. */
struct flow_end {
	nsec_t time;
	uint32_t position; /* just behind its bytes */
	uint32_t bytes;
	uint32_t thread; /* whose messages have one of this time and position */
	uint32_t next;   /* in its list: its place in the pool; 0 at the end */
};

struct flow {
	uint64_t key;
	nsec_t last;               /* when something was told of it */
	uint32_t sends, sends_end; /* that wait for their other side, by position, */
	uint32_t receives;         /* the latest first */
	uint32_t send_count;
	uint32_t sent, received; /* bytes, where the protocol does not count */
};

struct flows {
	struct map index; /* key -> flow + 1 */
	VEC(struct flow) items;
	VEC(struct flow_end) pool; /* the first is not used */
	uint32_t unused;           /* list of those in the pool */
};

void flows_done(struct flows *flows);

/*
 * An address as it is on the wire.  A socket for both versions of IP has the form
 * ::ffff:10.0.0.1 for what its peer knows as 10.0.0.1.
 */
struct socket_address flow_wire_address(const struct socket_address *a);

/*
 * The key of the direction from local to peer, or the other.  place: host and
 * network namespace, which tell apart the connections that never leave them.
 */
uint64_t flow_key(const struct socket_address *address, uint64_t place, bool from_local);

/* Holds until the next call. */
struct flow *flow_get(struct flows *flows, uint64_t key);

/* Told of a pair: the sides of one message. */
typedef void flow_fn(void *arg, const struct flow_end *send, const struct flow_end *receive);

void flow_send(struct flows *flows, struct flow *flow, const struct flow_end *send, flow_fn *fn,
	       void *arg);
void flow_receive(struct flows *flows, struct flow *flow, const struct flow_end *receive,
		  flow_fn *fn, void *arg);

/* Give up what has waited since before t, and flows in which nothing happened since. */
void flows_forget(struct flows *flows, nsec_t t);

size_t flows_memory(const struct flows *flows); /* bytes */

#endif
