/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow - matches the receives of a connection with the sends.
 *
 * A flow is one direction of a connection.  Both ends count its bytes in the same way (TCP by
 * sequence numbers), so a receive belongs to the send that contains its last byte,
 * however the bytes were split on the way.  The record of a send can come after that of
 * its receive, because it is made when the send returns.  So whichever comes second
 * finds the other one.
 *
 * There are many connections, and most have at most one message in flight.  So all unmatched
 * ends are in one pool, in which each flow has two short lists.
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
	uint32_t position; /* stream offset after its last byte, modulo 2^32 */
	uint32_t bytes;
	uint32_t thread; /* the thread that sent or received it */
	uint32_t next;   /* pool index of the next in its list; 0 at the end */
};

struct flow {
	uint64_t key;
	nsec_t last;               /* time of its last message */
	uint32_t sends, sends_end; /* first and last unmatched send, by position */
	uint32_t receives;         /* unmatched receives, latest first */
	uint32_t send_count;
	uint32_t sent, received; /* bytes, if the protocol does not count them */
};

struct flows {
	struct map index; /* key -> flow + 1 */
	VEC(struct flow) items;
	VEC(struct flow_end) pool; /* the first is not used */
	uint32_t unused;           /* list of free items in the pool */
};

void flows_done(struct flows *flows);

/*
 * The address on the wire.  A socket for both versions of IP has ::ffff:10.0.0.1 for an address
 * that its peer has as 10.0.0.1.
 */
struct socket_address flow_wire_address(const struct socket_address *a);

/*
 * The key of the direction from local to peer, or of the other direction.  `namespace` identifies
 * the host and its network namespace; it separates the loopback connections of different ones.
 */
uint64_t flow_key(const struct socket_address *address, uint64_t namespace, bool from_local);

/* Finds or adds a flow; the pointer is valid until the next call. */
struct flow *flow_get(struct flows *flows, uint64_t key);

/* Called for each match: the two ends of one message. */
typedef void flow_fn(void *arg, const struct flow_end *send, const struct flow_end *receive);

void flow_send(struct flows *flows, struct flow *flow, const struct flow_end *send, flow_fn *fn,
	       void *arg);
void flow_receive(struct flows *flows, struct flow *flow, const struct flow_end *receive,
		  flow_fn *fn, void *arg);

/*
 * Drops unmatched ends from before t, and flows without messages since t.  A flow with unread bytes
 * that the protocol does not count stays until it has no messages since `gone`.
 */
void flows_forget(struct flows *flows, nsec_t t, nsec_t gone);

size_t flows_memory(const struct flows *flows); /* bytes */

#endif
