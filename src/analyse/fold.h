/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold - repetition in sequences of letters.
 *
 * A loop repeats its states: R-D-R-D-R-D.  How often it runs depends on the data, so a long
 * sequence is folded before patterns are searched: adjacent repeats of 1 to 8 letters become one
 * occurrence, here R-D.  Loops within loops are folded, too, to a depth of three.
 *
 * A repetition in a pattern becomes an expression if it is frequent: R-T-(R-D)+-R.  A pattern of
 * folded sequences contains R-D once, and the blocks of the sequences tell that it is repeated.  A
 * pattern of other sequences contains R-D-R-D itself.  A tally counts both, over the leftmost
 * appearances of the pattern (mine_find()); a repetition is frequent if at least half of the
 * sequences with the pattern have it without other letters in between.
 *
 *	struct fold_tally *tally = fold_tally_new(pattern->letters, pattern->length);
 *	for each supporting sequence, with positions by mine_find():
 *		fold_tally_add(tally, positions, folded or NULL, weight);
 *	char *text = fold_tally_text(tally);
 *
 * All of it takes linear time.
 */
#ifndef SONDE_ANALYSE_FOLD_H
#define SONDE_ANALYSE_FOLD_H

#include "base/base.h"

enum {
	FOLD_LONGEST_PERIOD = 8, /* letters of a repeated part */
	FOLD_THRESHOLD = 256,    /* longer sequences are folded before patterns are searched */
};

/* Adjacent letters that the original sequence repeats. */
struct fold_block {
	uint32_t first, period; /* position and number of letters in the folded sequence */
};

struct folded_sequence {
	uint8_t *letters;
	uint32_t length;
	uint32_t *
		positions; /* for each letter of the original sequence, its position in `letters` */
	struct fold_block *blocks; /* by position */
	uint32_t block_count;
};

/* Times of the original letters are added up by `positions`. */
void fold_sequence(const uint8_t *letters, uint32_t length, struct folded_sequence *ret);
void folded_sequence_done(struct folded_sequence *folded);

struct fold_tally;

/* The pattern has at most MINE_LONGEST letters. */
struct fold_tally *fold_tally_new(const uint8_t *pattern, uint32_t length);
void fold_tally_free(struct fold_tally *tally);
DEFINE_FREEP(fold_tally)

/* Adds a supporting sequence; folded is NULL if the sequence is not folded. */
void fold_tally_add(struct fold_tally *tally, const uint32_t *positions,
		    const struct folded_sequence *folded, uint64_t weight);

/* The expression, such as R-T-(R-D)+-R; the caller frees it. */
char *fold_tally_text(const struct fold_tally *tally);

#endif
