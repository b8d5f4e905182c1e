/* SPDX-License-Identifier: Apache-2.0 */
/*
 * costs - where the time of requests went, as values: by service and state, and by cause.
 *
 * Accounts refer to the model and end with it.  Costs are their sums, with copies of the names, and
 * bounded: if a list is full, the smallest item makes room.
 */
#ifndef SONDE_TOP_COSTS_H
#define SONDE_TOP_COSTS_H

#include "analyse/causes.h"
#include "analyse/requests/path_share.h"

enum {
	COST_NAME = 64,   /* bytes of a name, with its NUL */
	COST_SHARES = 64, /* in a list */
	COST_CAUSES = 32,

	/* what costs time now is what did in this many seconds, or in more until there are enough
	   accounts */
	COST_SECONDS = 2,
	COST_ACCOUNTS = 10,
};

struct cost_share {
	uint64_t key; /* hash of service and state */
	nsec_t time;
	uint8_t state;
	char service[COST_NAME];
};

struct cost_cause {
	uint64_t key; /* cause_group.key */
	nsec_t time;
	bool is_pattern, is_lost;
};

/* All zero at first. */
struct costs {
	nsec_t total;      /* time of the requests */
	uint64_t accounts; /* number of accounts */
	uint64_t idle;     /* of these, requests that only wait for work */
	VEC(struct cost_share) shares;
	VEC(struct cost_cause) causes;
};

void costs_done(struct costs *costs); /* leaves an empty one */

/* Sums of accounts; `total` and `accounts` are those of `causes`. */
void costs_add_accounts(struct costs *costs, const struct path_shares *shares,
			const struct cause_sum *causes);
void costs_add(struct costs *costs, const struct costs *other);

/* Largest first; patterns are the first causes, and lost records the last. */
void costs_sort(struct costs *costs);

#endif
