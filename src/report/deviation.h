/* SPDX-License-Identifier: Apache-2.0 */
/* deviation - how spans differ from a baseline, in words. */
#ifndef SONDE_REPORT_DEVIATION_H
#define SONDE_REPORT_DEVIATION_H

#include "diagnose/watch.h"
#include "report/phrase.h"

/* "waits for a disk (D)", "own time"; also for FEATURE_PATTERN. */
const char *deviation_words(uint32_t feature);

/* "lock", "queueing", "pattern": a name for JSON and attributes. */
const char *deviation_state(uint32_t feature);

/* "ledger GET /: waits for a lock (L) 58.4 ms, usually 100 µs; 34 of 36 spans" */
struct phrase deviation_of_operation(const struct baseline *baseline,
				     const struct watched_state *state);

/* "waits for a lock (L) 58.4 ms, usually up to 100 µs" */
struct phrase deviation_of_span(const struct deviation *deviation);

#endif
