/* SPDX-License-Identifier: Apache-2.0 */
/*
 * budget - so much per second.
 *
 *	struct budget budget = { .rate = 1000 };
 *
 *	if (!budget_take(&budget, now, 1))
 *		dropped++;
 *
 * What is not used is saved for one second: then twice the rate is possible for a moment.
 */
#ifndef SONDE_BASE_BUDGET_H
#define SONDE_BASE_BUDGET_H

#include "base/base.h"

struct budget {
	uint64_t rate; /* per second */
	uint64_t left;
	nsec_t since; /* 0: not used yet */
};

/* Takes all of it or nothing. */
static inline bool budget_take(struct budget *b, nsec_t now, uint64_t amount)
{
	nsec_t passed = !b->since || now - b->since > NSEC_PER_SEC ? NSEC_PER_SEC : now - b->since;
	uint64_t more = (uint64_t)((double)b->rate * passed / NSEC_PER_SEC);

	if (more) {
		b->left = b->left + more < b->rate ? b->left + more : b->rate;
		b->since = now;
	}
	if (amount > b->left)
		return false;
	b->left -= amount;
	return true;
}

#endif
