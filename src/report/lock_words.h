/* SPDX-License-Identifier: Apache-2.0 */
/* lock_words - the words for waits that another thread has to end, by kind (analyse/lock_kind.h).
 */
#ifndef SONDE_REPORT_LOCK_WORDS_H
#define SONDE_REPORT_LOCK_WORDS_H

#include "analyse/lock_kind.h"

struct lock_words {
	const char *verb;   /* "waits" */
	const char *object; /* " for a lock" */
	const char *link; /* " held by": comes before the thread that ends the wait; NULL if none */
	const char *while_; /* "waits for the lock it holds", where `it` is the other thread */
};

/* Of a kind other than LOCK_NONE. */
const struct lock_words *lock_words(enum lock_kind kind);

#endif
