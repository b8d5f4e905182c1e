/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recent_counts - a number for each of the keys that were used recently.
 *
 * Keys come from the ids of traces, which senders choose.  So the memory is fixed: each key has a
 * few possible slots, and a new one replaces the one among them that was not used for longest.  A
 * key that comes back later starts at 0 again.
 */
#ifndef SONDE_ANNOTATE_RECENT_COUNTS_H
#define SONDE_ANNOTATE_RECENT_COUNTS_H

#include "base/base.h"

struct recent_counts;

struct recent_counts *recent_counts_new(void);
void recent_counts_free(struct recent_counts *c);
DEFINE_FREEP(recent_counts)

/* The number of these bytes, 0 at first; valid until the next call. */
uint32_t *recent_counts_at(struct recent_counts *c, const void *key, size_t size);

#endif
