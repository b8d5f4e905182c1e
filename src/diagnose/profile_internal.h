/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of profile.h, for its files only. */
#ifndef SONDE_DIAGNOSE_PROFILE_INTERNAL_H
#define SONDE_DIAGNOSE_PROFILE_INTERNAL_H

#include "diagnose/profile.h"
#include "diagnose/sequence.h"

/* The samples of one key. */
struct group {
	const struct baseline *baseline;
	const struct kept_span **samples; /* by identity */
	size_t count;
};

/* Mines the sequences of one interval, and measures the states of the expected pattern. */
void patterns_learn(const struct group *group, uint32_t interval, uint32_t interval_count,
		    struct arena *arena, struct interval_profile *ret);

/*
 * The times of all samples, and what follows from them: the bands of the profile, and its limit.
 * The patterns must be known.
 */
void bands_learn(const struct group *group, struct profile *profile);

/* Returns whether the samples vary a lot, and a trait explains it; the parts have no profiles. */
bool split_find(const struct group *group, const struct band_options *options, struct split *ret);

#endif
