/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge - several inputs as one stream of records in the order of their time.
 *
 * All times are put on one line: CLOCK_MONOTONIC of the first input that has
 * one (a capture), or CLOCK_REALTIME if none has.
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

/* As input_next(); *ret_source tells how to read its strings and times, and holds as long as merge.
 */
int merge_next(struct merge *merge, const struct record **ret, const struct source **ret_source,
	       struct err *err);

#endif
