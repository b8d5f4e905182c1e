/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge - several inputs as one stream of records in the order of their time.
 *
 * All times are put on one line: CLOCK_MONOTONIC of the first input that has
 * one (a capture), or CLOCK_REALTIME if none has.  What would stand before the
 * begin of that line, as a trace from before the machine was started, is left
 * out, counted, and told of.
 *
 * Captures of one machine, from one boot to the next, speak of the same
 * threads; those of different machines do not.  A foreign trace speaks of a
 * captured machine if it names it, or if it names none and there is only one.
 */
#ifndef SONDE_READ_MERGE_H
#define SONDE_READ_MERGE_H

#include "event/source.h"
#include "read/input.h"

struct merge;

/* Opens all paths (NULL-terminated). */
int merge_open(char **paths, struct merge **ret, struct err *err);
void merge_free(struct merge *merge);
DEFINE_FREEP(merge)

/*
 * As input_next(); *ret_source tells how to read its strings and times, and
 * holds as long as merge.  What is wrong with one input is told when the others
 * have given all their records.
 */
int merge_next(struct merge *merge, const struct record **ret, const struct source **ret_source,
	       struct err *err);

/* What could not be used: the i-th sentence, NULL behind the last.  Asked when all is read. */
const char *merge_notice(const struct merge *merge, size_t i);

/* When the first recording began, on the common line; 0 if no input says. */
nsec_t merge_start(const struct merge *merge);

#endif
