/* SPDX-License-Identifier: Apache-2.0 */
/* findings - what the flagged spans of a diagnosis have in common; a part of diagnosis.h. */
#ifndef SONDE_DIAGNOSE_FINDINGS_H
#define SONDE_DIAGNOSE_FINDINGS_H

#include "diagnose/diagnosis.h"

/* Fills operations and findings from the compared spans. */
void findings_find(struct diagnosis *diagnosis);

/* Fills what a verdict decides of a compared span. */
void tested_set_verdict(struct tested *tested, const struct verdict *verdict);

/* Adds a compared span to the sums of its operation. */
void tested_operation_add(struct tested_operation *operation, const struct tested *tested);

/* A state that the flagged spans of an operation have in common. */
struct common_state {
	uint32_t feature; /* or FEATURE_PATTERN */
	bool is_faster;
	uint64_t flagged; /* spans */
	struct excess excess;
};

enum { COMMON_STATES_MAX = 2 * FEATURE_COUNT };

/*
 * The states that more spans of an operation deviate in than chance explains: with a probability
 * below `chance`.  States and queueing; if there are none, the own time, what the expected pattern
 * skips, or that it is missing.  Returns their number.
 */
size_t findings_common_states(const struct tested_operation *operation, double chance,
			      struct common_state ret[COMMON_STATES_MAX]);

/* The probability that at least k of n spans are flagged, if each is with probability p. */
double findings_chance(uint64_t k, uint64_t n, double p);

#endif
