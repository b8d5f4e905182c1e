/* SPDX-License-Identifier: Apache-2.0 */
/*
 * census - how many threads and processes a capture is about.
 *
 * Numbers are reused, so it counts lives and not numbers: a NEW begins one even
 * if the number was seen before, and so does any first word after an EXIT.  A
 * neighbour that comes into scope later is no neighbour any more.  Which process a
 * thread belongs to may become known later than the thread, which counts as one of
 * its own until then.
 */
#ifndef SONDE_REPORT_CENSUS_H
#define SONDE_REPORT_CENSUS_H

#include "base/map.h"
#include "event/event.h"

/* All zero is an empty one. */
struct census {
	uint64_t threads, processes; /* in scope */
	uint64_t other_tasks;        /* threads out of scope */
	struct map lives;            /* tid: enum life */
	struct map pids;             /* in scope: number of their threads */
	struct map homes;            /* tid: pid + 1, of threads in scope */
};

void census_feed(struct census *census, const struct record *record);
void census_done(struct census *census);

#endif
