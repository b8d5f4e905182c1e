/* SPDX-License-Identifier: Apache-2.0 */
/* sequence - the letters of an interval as the miner sees them, with their times. */
#ifndef SONDE_DIAGNOSE_SEQUENCE_H
#define SONDE_DIAGNOSE_SEQUENCE_H

#include "analyse/fold.h"
#include "base/vec.h"
#include "diagnose/kept_span.h"

typedef VEC(uint8_t) letter_list;
typedef VEC(nsec_t) letter_times;

struct sequence {
	letter_list letters;
	letter_times times; /* of each letter */
	bool is_folded;
	struct folded_sequence folded; /* if it is */
};

/*
 * Replaces what was in `ret`.  A sequence with more than `longest` letters is folded
 * (analyse/fold.h): repetitions count once, with the sum of their times.
 */
void sequence_of(const struct kept_span *sample, uint32_t interval, uint32_t longest,
		 struct sequence *ret);
void sequence_done(struct sequence *sequence);

#endif
