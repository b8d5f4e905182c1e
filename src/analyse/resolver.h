/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolver - the thread that ended a wait, and so explains it.
 *
 * It is the sender of the message that the thread waited for, the peer of its pending call, the
 * holder of a lock, or the thread that woke it.
 *
 * An idle thread of a server can be woken because another client has sent a request.  Neither that
 * client nor the thread that read its request kept this request waiting, so such a wait is parked:
 * its cause is unknown.
 */
#ifndef SONDE_ANALYSE_RESOLVER_H
#define SONDE_ANALYSE_RESOLVER_H

#include "analyse/episode.h"
#include "model/model.h"

struct resolver {
	thread_id thread;
	nsec_t at;       /* until then, its timeline explains the wait */
	nsec_t left;     /* when its message left the send buffer, if it was held there; or 0 */
	uint8_t held;    /* enum held_reason */
	uint8_t state;   /* of the wait, if it differs from that of the episode; or 0 */
	bool is_parked;  /* nothing explains the wait */
	uint64_t socket; /* that the thread waited for; 0 if unknown */
};

/* A part of a wait of a thread that works for a request. */
struct resolver_wait {
	thread_id thread;
	const struct episode *episode;
	nsec_t from, to;
	uint64_t request_socket; /* on which the request arrived; 0 if unknown */
};

/* Finds the resolver of a wait; false if there is none. */
bool resolver_find(const struct model *model, const struct resolver_wait *wait,
		   struct resolver *ret);

#endif
