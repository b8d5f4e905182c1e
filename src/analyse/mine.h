/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mine - closed sequential patterns with a gap constraint.
 *
 * A pattern is a sequence of letters.  It appears in a sequence if its letters occur there in
 * order, and between two consecutive letters of the pattern, at least gap.least and at most
 * gap.most letters are skipped.  The support of a pattern is the number of sequences in which it
 * appears, by weight: how often it appears in one of them makes no difference.  A pattern is
 * frequent if its support is at least the minimum, and only closed patterns are returned, because
 * the others repeat what a longer one expresses.
 *
 *	struct mine_options options = mine_defaults;
 *	options.support = mine_support(0.95, total_weight);
 *	struct mine_result result;
 *	mine_patterns(sequences, count, &options, &result);
 *	if (result.count)
 *		expected = &result.patterns[0];
 *	mine_result_done(&result);
 *
 * The algorithm is Gap-BIDE (Li and Wang, Efficiently Mining Closed Subsequences with Gap
 * Constraints, SDM 2008).  Appearances are bit masks (analyse/mine_mask.h), so that a step examines
 * 64 positions of a sequence at once.
 *
 * The number of frequent patterns can be exponential in the length of the sequences: the 60 letters
 * R-N-R-N-... alone have more than 10^12 patterns that are closed at their ends with the gap [0,2],
 * and long sequences that hardly differ have nearly as many.  So bounds end the search, and
 * is_truncated is set.  The result has the patterns found so far.  The search tries the nearest
 * letters first, so that patterns nearly as long as the longest are among the first.  If loops
 * cause the number, a caller can fold the sequences (analyse/fold.h) and search again.
 *
 * The result depends only on the sequences and options, not on the number of threads.
 */
#ifndef SONDE_ANALYSE_MINE_H
#define SONDE_ANALYSE_MINE_H

#include "base/base.h"

enum { MINE_LONGEST = 256 }; /* letters of a pattern; longer ones are cut and count as truncated */

struct mine_sequence {
	const uint8_t *letters; /* borrowed */
	uint32_t length;
	uint64_t weight; /* number of equal sequences; 0 leaves the sequence out */
};

/* Number of letters skipped between two consecutive letters of a pattern. */
struct mine_gap {
	uint32_t least, most;
};

enum mine_closed {
	/* No letter can be added before or after the pattern with the same supporting sequences. */
	MINE_CLOSED_ENDS,
	/*
	 * No longer pattern that contains the pattern, with letters added anywhere, has the same
	 * set of supporting sequences.  Sets are compared: with a gap constraint, a longer pattern
	 * can have the same number of other sequences.
	 */
	MINE_CLOSED_ALL,
};

struct mine_options {
	uint64_t support; /* minimum, by weight; 0 counts as 1 */
	struct mine_gap gap;
	enum mine_closed closed;
	unsigned threads;         /* 0 counts as 1 */
	size_t max_patterns;      /* of the result */
	uint64_t max_work;        /* mask words examined; 10^9 take one to two seconds */
	size_t max_search_memory; /* bytes of appearances, for each thread */
};

/* Gap [0,2], ends, one thread, and bounds of about 30 seconds and 256 MB. */
extern const struct mine_options mine_defaults;

struct mine_pattern {
	const uint8_t *letters; /* owned by the result */
	uint32_t length;
	uint64_t support; /* number of sequences in which it appears, by weight */
};

struct mine_result {
	struct mine_pattern *patterns; /* longest first, then best supported, then by bytes */
	size_t count;
	bool is_truncated; /* patterns may be missing, and with MINE_CLOSED_ALL, not all are closed
			    */
	struct arena *arena; /* of the letters */
};

/* The least count that is at least a share of a total, such as 0.95. */
uint64_t mine_support(double share, uint64_t total);

/*
 * Time is linear in the number and length of the sequences, for a given number of patterns.
 * Memory is one bit for each position and frequent letter, and one for each position and letter of
 * the current pattern.
 */
void mine_patterns(const struct mine_sequence *sequences, size_t count,
		   const struct mine_options *options, struct mine_result *ret);

void mine_result_done(struct mine_result *result);

/*
 * The leftmost appearance of a pattern: of all appearances, the one with the lexicographically
 * smallest positions.  A greedy search can miss it, as the first occurrence of a letter may be too
 * far from the next one.  Writes one position for each letter of the pattern.  Returns whether the
 * pattern appears; an empty pattern always does.
 */
bool mine_find(const uint8_t *letters, uint32_t length, const uint8_t *pattern,
	       uint32_t pattern_length, const struct mine_gap *gap, uint32_t *ret_positions);

#endif
