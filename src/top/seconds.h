/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seconds - the latencies of the last seconds, and their percentiles.
 *
 * The percentiles of the last few seconds are exact, so these keep every latency.  Of older
 * seconds, only the 95th percentile is left.  A request belongs to the second in which it was
 * reported, not to the one in which it ended: it is reported when its end is certain, up to a
 * second later, and a rate of the current second would be too low.
 */
#ifndef SONDE_TOP_SECONDS_H
#define SONDE_TOP_SECONDS_H

#include "analyse/latency.h"
#include "report/top_view.h"

enum { SECONDS_EXACT = 5 }; /* seconds that percentiles are of */

struct seconds {
	uint64_t second;                /* current one */
	latencies times[SECONDS_EXACT]; /* by second modulo their number; the current one open */
	nsec_t totals[SECONDS_EXACT];   /* sums of times */
	nsec_t p95[TOP_SECONDS];        /* by second modulo their number */
};

void seconds_done(struct seconds *s);

/* Ends all seconds before this one. */
void seconds_advance(struct seconds *s, uint64_t second);
/* In the current second. */
void seconds_add(struct seconds *s, nsec_t latency);
/* Adds what another one has in the same seconds; the percentiles of older ones are not added. */
void seconds_merge(struct seconds *s, const struct seconds *other);

struct seconds_sum {
	size_t count;
	nsec_t total;
	nsec_t p50, p95, p99, max;
	uint8_t at_least; /* TOP_P50, ...: percentiles that may be higher */
};

/*
 * Over the last seconds.  Requests in flight that already took longer than the 95th percentile of
 * the others count with their age; `ages` are sorted, shortest first.
 */
struct seconds_sum seconds_sum(struct seconds *s, const nsec_t *ages, size_t age_count);

/* Sum of the latencies, for ordering. */
nsec_t seconds_total(const struct seconds *s);

/* Percentiles of each second, oldest first.  Returns whether any is not 0. */
bool seconds_history(struct seconds *s, nsec_t ret[TOP_SECONDS]);

#endif
