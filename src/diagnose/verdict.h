/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict - whether a span behaves as in the baseline, and what differs.
 *
 * A span is compared with the most specific profile that has enough observations: its position in
 * its type of trace, its subtree, or its operation.  If this profile is divided, it is compared
 * with the part that contains the span.  It is flagged if its largest score is above the limit of
 * the profile; all times above the limit are its deviations.
 */
#ifndef SONDE_DIAGNOSE_VERDICT_H
#define SONDE_DIAGNOSE_VERDICT_H

#include "diagnose/profile.h"

/* A missing pattern, as the number of a feature. */
#define FEATURE_PATTERN FEATURE_COUNT

struct deviation {
	uint32_t interval; /* or INTERVAL_ALL */
	uint32_t feature;  /* enum span_feature, or FEATURE_PATTERN */
	double score;      /* negative: faster than usual */
	nsec_t observed;   /* ns; 0 for a pattern */
	struct band band;  /* of the time; all zero for a pattern */
};

struct verdict {
	const struct profile *profile; /* borrowed; NULL: unknown operation, or too few of it */
	bool is_flagged;
	bool is_flagged_plainly;          /* by the paper's rule */
	double score;                     /* the largest, without sign */
	nsec_t times[FEATURE_COUNT];      /* of all intervals */
	double expected[FEATURE_COUNT];   /* mean of the same in the baseline */
	VEC(struct deviation) deviations; /* largest score first */
};

struct verdicts {
	const struct baseline *baseline; /* borrowed */
	const struct profiles *profiles; /* borrowed */
};

/* `by_type`: whether the type of its trace is known.  Replaces what was in `ret`. */
void verdict_find(const struct verdicts *verdicts, const struct kept_span *sample, bool by_type,
		  struct verdict *ret);
void verdict_done(struct verdict *verdict);

#endif
