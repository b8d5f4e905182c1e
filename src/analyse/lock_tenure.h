/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_tenure - since when a thread held the lock that it releases, and which thread held it
 * before.
 *
 * The thread that ends a wait for a lock need not have held it all the time.  If it waited for the
 * lock itself, it got it then, from the thread that woke it.  And a thread that waits for its
 * next request holds no lock: others did, such as other readers of an rwlock.
 */
#ifndef SONDE_ANALYSE_LOCK_TENURE_H
#define SONDE_ANALYSE_LOCK_TENURE_H

#include "model/model.h"

struct lock_tenure {
	nsec_t since;
	thread_id before; /* none if unknown */
};

/* Of a thread that releases a lock at `to`.  `since` is `from` if it can have held it from then. */
struct lock_tenure lock_tenure_of(const struct model *model, thread_id holder,
				  const struct cause *lock, nsec_t from, nsec_t to);

#endif
