/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threshold - which requests are slow: those above a time, or above a percentile of their entry.
 *
 * A percentile is that of the requests before, and follows a service that becomes slower or faster
 * for good (base/quantile.h).  Recorded processes choose the names of entries.  Memory is bounded:
 * of too many entries, the one with the fewest requests is given up.
 */
#ifndef SONDE_FLIGHT_THRESHOLD_H
#define SONDE_FLIGHT_THRESHOLD_H

#include "base/base.h"
#include "base/err.h"

struct threshold;

/* A time such as 500ms, or a percentile such as p99.9. */
int threshold_new(const char *text, struct threshold **ret, struct err *err);
void threshold_free(struct threshold *t);
DEFINE_FREEP(threshold)

/*
 * Whether a request is slow.  `entry` identifies what the client called.  *ret_limit is what the
 * latency was compared with; 0 if there is no percentile yet.
 */
bool threshold_exceeded(struct threshold *t, uint64_t entry, nsec_t latency, nsec_t *ret_limit);

/* The number of requests that an entry needs first; 0 for a time. */
uint64_t threshold_needs(const struct threshold *t);

#endif
