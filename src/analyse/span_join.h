/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_join - which rebuilt request a recorded span serves.
 *
 * An SDK that was not started by `sonde run` exports spans without threads.  The kernel recording
 * has the same requests, with threads and with the time before the span began.  Both are on one
 * clock, so a server span and its request are found by process, connection and time:
 *
 * - The span begins after a thread has read the request, and ends before the reply is sent or
 *   shortly afterwards.
 * - Its process has received the request.  If the span has no pid, or the pid of a container's own
 *   namespace, most spans of the service must fit requests to one port.
 * - It has the port of the client, if the SDK exports that.
 *
 * Of several requests that fit, the closest in time is chosen, by the time from the read to the
 * begin of the span, multiplied by that from its end to the reply: a server with a queue of jobs
 * delays the former, a busy event loop the latter, but rarely both.  A span and a request are
 * joined only if each is the clearly closest to the other, since a wrong join is worse than none.
 * What is joined no longer competes, so this is repeated until nothing more is clear.
 */
#ifndef SONDE_ANALYSE_SPAN_JOIN_H
#define SONDE_ANALYSE_SPAN_JOIN_H

#include "analyse/requests/requests.h"
#include "base/vec.h"
#include "model/model.h"

struct joined_span {
	span_id span;     /* none: the request is not joined */
	float confidence; /* probability that the span serves the request, from 0 to 1 */
};

struct span_join {
	VEC(struct joined_span) spans; /* by index in requests.spans; empty without any join */
	size_t count;                  /* number of joined requests */
};

/* Only requests and spans that end at `since` or later are joined; 0: all. */
void span_join_find(const struct model *model, const struct requests *requests, nsec_t since,
		    struct span_join *ret);
void span_join_done(struct span_join *join);

#endif
