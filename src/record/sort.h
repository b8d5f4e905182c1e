/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort - merge the records of all CPUs by time.
 *
 * The records in a CPU's ring are almost sorted: if a BPF program is interrupted
 * between reading the clock and reserving its record, the record comes a little
 * late.  So each CPU has a stream into which new records are inserted from the
 * end.  As a record is committed some time after its timestamp, streams are
 * merged only up to a horizon in the past.
 *
 * The times in an agent's stream are untrusted.  A record that would have to move
 * past many others goes into a heap instead, so that sorting any input takes
 * O(n log n).
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

/* Add a copy of a record to a stream. */
void sorter_add(struct sorter *sorter, size_t stream, const struct record *record);

typedef int sorter_fn(void *arg, const struct record *record, struct err *err);

/*
 * Pass all records with a time up to the horizon to fn, in order, and remove them.
 * Records of equal time keep the order of their stream.  Stops if fn fails.
 */
int sorter_flush(struct sorter *sorter, nsec_t horizon, sorter_fn *fn, void *arg, struct err *err);

/* Number of records that fn got out of order, because they were added too late. */
uint64_t sorter_late(const struct sorter *sorter);

#endif
