/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_slice - when threads worked for inferred spans, and when they read replies for them.
 *
 * An event loop works for many requests in turn, and a request can move between threads.  A slice
 * is a stretch of time in which a thread worked for one span.  Slices answer two questions: when
 * did any thread work for a span, and which span did a thread work for at some time.
 *
 * A reply is what a thread read in answer to a call that it had made for a span.  It ends a pause
 * of that span; between its arrival and the read, the reply was queued.
 */
#ifndef SONDE_MODEL_SPAN_SLICE_H
#define SONDE_MODEL_SPAN_SLICE_H

#include "base/vec.h"
#include "model/model.h"

struct span_slice {
	nsec_t start, end;
	thread_id thread;
	span_id span;
};

struct span_reply {
	nsec_t time;    /* when a thread read its first part */
	nsec_t arrival; /* when that part arrived; 0 if unknown */
	uint64_t socket;
	span_id span;
	bool is_peer_recorded;
};

struct span_slices {
	VEC(struct span_slice) by_span;   /* by span, then by start; without overlap */
	VEC(struct span_slice) by_thread; /* by thread, then by start; without overlap */
	VEC(struct span_reply) replies;   /* by span, then by time */
};

void span_slices_done(struct span_slices *slices);

void span_slices_add(struct span_slices *slices, const struct span_slice *slice);
void span_slices_add_reply(struct span_slices *slices, const struct span_reply *reply);

/* Call after the last add and before the functions below: sorts. */
void span_slices_finish(struct span_slices *slices);

/* The slice of a span at time t, or else its first after t; NULL if there is none. */
const struct span_slice *span_slice_of_span(const struct span_slices *slices, span_id span,
					    nsec_t t);
/* The same for a thread, whatever the span. */
const struct span_slice *span_slice_of_thread(const struct span_slices *slices, thread_id thread,
					      nsec_t t);
/* The first reply that was read for a span at time t or later; NULL if there is none. */
const struct span_reply *span_reply_from(const struct span_slices *slices, span_id span, nsec_t t);

#endif
