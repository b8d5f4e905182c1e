/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split - parts of the spans of one key, each with usual times of its own.
 *
 * If the time of an operation depends on what it is called with, its bands are wide: a small
 * request that takes as long as a large one is within them.  So if the times of the samples,
 * without waits for a CPU, vary a lot, their traits (analyse/span_traits.h) are tried one by one,
 * and the trait that explains most of the variance divides the samples into parts.
 *
 * Numbers are divided into ranges: the cut that leaves the least variance is made first, as in a
 * regression tree.  Of texts, the most frequent ones are parts, and the others together.  The
 * measure is the share of the variance of the logarithm of the time that lies between the parts,
 * corrected for their number (Kelley's epsilon squared), which is 0 on average for a trait without
 * effect.
 *
 * Of many traits, some explain a lot by chance.  Therefore, half of the samples, by a bit of their
 * identity, chooses the trait and its parts, and the choice is accepted if it holds in the other
 * half.  Attributes come first; functions and probes, which are part of what a span did rather than
 * of what it was called with, are tried if no attribute is accepted.
 */
#ifndef SONDE_DIAGNOSE_SPLIT_H
#define SONDE_DIAGNOSE_SPLIT_H

#include "diagnose/kept_span.h"

struct profile;

enum { PARTS_MAX = 8 };

struct split_part {
	int64_t from, to;        /* of numbers: the least and the largest in the samples */
	const char *text;        /* of texts; NULL: all other texts; borrowed from a sample */
	struct profile *profile; /* of the part */
};

struct split {
	const char *key; /* of the trait; borrowed from a sample */
	uint8_t kind;    /* enum span_trait_kind */
	bool is_text;
	double explained; /* share of the variance, in the half that did not choose */
	uint32_t part_count;
	struct split_part
		parts[PARTS_MAX]; /* numbers in order; of texts, the most frequent first */
};

/* Returns the index of the part of a span, or -1 if no part contains its value. */
int split_part_of(const struct split *split, const struct kept_span *span);

#endif
