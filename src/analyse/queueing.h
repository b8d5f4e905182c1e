/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queueing - why a request that had arrived was not read at once.
 *
 * Between the arrival of a request at the socket and its read, no thread works for it.  The thread
 * that reads it in the end is the one to look at: if several threads could have read it, all of
 * them were busy, and this one was free first.  So what this thread did meanwhile explains the
 * delay, and for which other request.  If the thread did not exist yet, the thread that created it
 * counts.
 *
 * A thread that waited for events when the request arrived is woken by it, which takes a moment,
 * and longer if no CPU is free.  That is not queueing, until the thread turns to something else.
 */
#ifndef SONDE_ANALYSE_QUEUEING_H
#define SONDE_ANALYSE_QUEUEING_H

#include "analyse/span_work.h"

/*
 * Requests in front of a request that have their own parts; the rest is one part.  For thousands in
 * a queue, the cost would be quadratic.
 */
enum { QUEUE_MAX = 256 };

/* Appends the parts of a span between two times before its read, without gap. */
void queueing_find(const struct span_set *spans, span_id span, nsec_t from, nsec_t to,
		   struct span_work *ret);

#endif
