/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_share - where the latency of requests went: services and states on the critical path.
 *
 * A request that waits for another service appears in both: as N in the caller, and as what the
 * other service does.  Only the latter tells where the time went.  So the shares are those of the
 * leaves of accounts, and add up to the latency.
 */
#ifndef SONDE_ANALYSE_REQUESTS_PATH_SHARE_H
#define SONDE_ANALYSE_REQUESTS_PATH_SHARE_H

#include "analyse/account.h"
#include "base/map.h"

struct path_share {
	const char *service; /* borrowed from the model or the span set; "" if unknown */
	uint8_t state;       /* STATE_GAP if unknown */
	nsec_t time;
};

struct path_shares {
	VEC(struct path_share) items; /* after path_shares_finish(), largest first */
	struct map index;             /* private: hash of service and state -> index + 1 */
};

/* The request stands for `weight` requests. */
void path_shares_add(struct path_shares *shares, const struct span_set *spans,
		     const struct account *account, double weight);
void path_shares_finish(struct path_shares *shares);
void path_shares_done(struct path_shares *shares);

/* Adds the time of the leaves of a path by span and state: map of span << 8 | state -> ns. */
void path_states_by_span(const struct span_set *spans, span_id root, struct map *ret);

#endif
