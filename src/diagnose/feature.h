/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature - the times of a span that are compared with a baseline.
 *
 * The paper compares the states of the expected pattern only.  Most intervals have the pattern R
 * and nothing else, because no other state is in 95 % of the sequences, so a new wait for a lock
 * or a disk would be skipped.  Therefore, each interval has a time for each letter, the time
 * that the pattern skips, and the times that are no letters.
 */
#ifndef SONDE_DIAGNOSE_FEATURE_H
#define SONDE_DIAGNOSE_FEATURE_H

#include "diagnose/kept_span.h"

enum span_feature {
	FEATURE_RUNNING,
	FEATURE_DISK,
	FEATURE_NETWORK,
	FEATURE_TIMER,
	FEATURE_LOCK,
	FEATURE_PROCESS,
	FEATURE_INPUT,
	FEATURE_UNKNOWN,
	FEATURE_READY,
	FEATURE_THROTTLED,
	FEATURE_IRQ,
	FEATURE_STATES,                 /* the features above are states of threads */
	FEATURE_TOTAL = FEATURE_STATES, /* of an interval, or of the span without children */
	FEATURE_SKIPPED,                /* not in the expected pattern */
	FEATURE_QUEUEING, /* before a thread read the request, or while it worked for another */
	FEATURE_COUNT
};

/* Number of the interval that stands for all intervals of a span together. */
#define INTERVAL_ALL UINT32_MAX

/* The letter of a state: R, D, N, T, L, I, U, ?, C, Q, X; 0 for other features. */
char feature_letter(enum span_feature feature);
/* "disk", "total": a name for JSON and SQL. */
const char *feature_name(enum span_feature feature);

/* Whether a time of a sample is known: one without states has only TOTAL and QUEUEING. */
static inline bool feature_is_known(const struct kept_span *sample, enum span_feature feature)
{
	return sample->has_states || feature == FEATURE_TOTAL || feature == FEATURE_QUEUEING;
}

/* The times of an interval of a sample, or of all; not FEATURE_SKIPPED, which depends on a pattern.
 */
void features_of(const struct kept_span *sample, uint32_t interval, nsec_t ret[FEATURE_COUNT]);

#endif
