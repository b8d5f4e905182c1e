/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule - when to write which slow requests into a capture.
 *
 * A slow request waits until the records that follow it for a short time are held, too.  Then a
 * capture of everything held is due, unless one was written less than `every` ago or is being
 * written.  It contains all requests that are complete by then; those that end later wait for
 * the next one.
 *
 * What is held moves on.  If the start of a waiting request is dropped before the capture is
 * allowed, the request is counted as missed, and no capture is written for it.  With `every` well
 * below the time that is held, no request is missed.
 *
 * A request that started before the oldest time held when it ended is longer than what is held, or
 * the memory does not suffice.  A capture with its last part is better than none, so it is
 * written like the others, marked as partial.
 */
#ifndef SONDE_FLIGHT_SCHEDULE_H
#define SONDE_FLIGHT_SCHEDULE_H

#include "base/vec.h"
#include "flight/slow_request.h"

typedef VEC(struct slow_request) slow_requests;

/* Records after the end of a request that a capture should contain. */
#define SCHEDULE_TAIL (500 * NSEC_PER_MSEC)

/* Waiting requests are bounded, as a stalled service can make all of them slow. */
enum { SCHEDULE_WAITING_MAX = 10000 };

struct schedule {
	nsec_t every;          /* least time between two captures */
	slow_requests waiting; /* in the order of their report */
	nsec_t last;           /* time of the last capture; 0 if there is none */
	uint64_t missed;       /* number of requests that are in no capture */
};

void schedule_done(struct schedule *s);

/* [from, to] is the time that is held.  Sets request->is_partial. */
void schedule_add(struct schedule *s, const struct slow_request *request, nsec_t from);

/* Drop waiting requests if their start is no longer held. */
void schedule_forget(struct schedule *s, nsec_t from);

/* Whether to write a capture of [.., to] now. */
bool schedule_is_due(const struct schedule *s, nsec_t to);

/*
 * A capture of [.., to] is written now: moves the requests that it contains to *ret, which is
 * empty.  With `is_last`, also those without their tail yet.
 */
void schedule_take(struct schedule *s, nsec_t to, bool is_last, slow_requests *ret);

#endif
