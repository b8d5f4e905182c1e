/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantile - a running percentile per key, in bounded memory.
 *
 *	struct quantiles *q = quantiles_new(99000, 256);
 *	uint64_t limit = quantiles_add(q, key, latency);
 *	bool is_slow = limit && latency > limit;
 *
 * Each key has a histogram with buckets of 3 % of their value.  Its percentile is used once the key
 * has had enough values that about ten of them were above it: 1,000 for p99, 10,000 for p99.9.
 * Counts are halved from time to time, so that the percentile follows values that grow or shrink
 *for good.
 *
 * Keys can come from hostile peers.  Of too many keys, the least used one is given up; uses are
 * halved from time to time, too, so that a key that is no longer used gives way to others.  A
 * histogram has 7.6 KiB.
 */
#ifndef SONDE_BASE_QUANTILE_H
#define SONDE_BASE_QUANTILE_H

#include "base/base.h"

struct quantiles;

/* The percentile is in thousandths of a percent, above 0 and below 100,000. */
struct quantiles *quantiles_new(unsigned int thousandths, size_t keys_max);
void quantiles_free(struct quantiles *q);
DEFINE_FREEP(quantiles)

/* The percentile of the values of this key before this one; 0 if there are too few. */
uint64_t quantiles_add(struct quantiles *q, uint64_t key, uint64_t value);

/* The number of values that a key needs first. */
uint64_t quantiles_needs(const struct quantiles *q);

#endif
