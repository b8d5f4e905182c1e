/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort - records of many CPUs in the order of their time.
 *
 * Each CPU's ring gives its records nearly in order: a program that was
 * interrupted between its look at the clock and its reservation stands a
 * little late.  So each CPU has a stream in which a new record moves forward
 * past the few that are younger; and since a record may be committed some time
 * after its stamp, streams are merged only up to a horizon in the past.
 *
 * The times in an agent's stream are whatever a process claims.  A record that
 * would have to move past many others goes to a heap beside the stream, so that
 * any order takes O(n log n).
 */
#ifndef SONDE_RECORD_SORT_H
#define SONDE_RECORD_SORT_H

#include "base/base.h"
#include "base/err.h"
#include "event/event.h"

struct sorter;

struct sorter *sorter_new(size_t streams);
void sorter_free(struct sorter *sorter);
DEFINE_FREEP(sorter)

/* Take a copy of a record that came by the given stream. */
void sorter_add(struct sorter *sorter, size_t stream, const struct record *record);

typedef int sorter_fn(void *arg, const struct record *record, struct err *err);

/*
 * Hand over, in order, all records with a time up to the horizon.  Records of
 * equal time keep the order of their stream.  Ends early if fn fails.
 */
int sorter_flush(struct sorter *sorter, nsec_t horizon, sorter_fn *fn, void *arg, struct err *err);

/* How many records came so late that others with a later time had been handed over. */
uint64_t sorter_late(const struct sorter *sorter);

#endif
