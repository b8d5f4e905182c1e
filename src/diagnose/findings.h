/* SPDX-License-Identifier: Apache-2.0 */
/* findings - what the flagged spans of a diagnosis have in common; a part of diagnosis.h. */
#ifndef SONDE_DIAGNOSE_FINDINGS_H
#define SONDE_DIAGNOSE_FINDINGS_H

#include "diagnose/diagnosis.h"

/* Fills operations and findings from the compared spans. */
void findings_find(struct diagnosis *diagnosis);

/* The probability that at least k of n spans are flagged, if each is with probability p. */
double findings_chance(uint64_t k, uint64_t n, double p);

#endif
