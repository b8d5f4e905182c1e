/* SPDX-License-Identifier: Apache-2.0 */
/* forget - what is shared by the choice of what to keep (keep.c) and its new numbers (forget.c). */
#ifndef SONDE_ANALYSE_REQUESTS_FORGET_H
#define SONDE_ANALYSE_REQUESTS_FORGET_H

#include "analyse/requests/internal.h"

struct forgetting {
	struct finder *f;
	struct finder *completed; /* a completed copy: indexes of states are the same */
	const struct forget_times *times;
	/* at first, whether each is needed; then its new number, 0 if it is dropped */
	uint32_t *states, *hypotheses, *sides, *calls, *client_calls;
};

/* Whether a thread has exited, and its last records are older than t. */
static inline bool thread_is_gone(const struct finder *f, uint32_t thread, nsec_t t)
{
	const struct thread *th = thread_of(f, thread);

	return th->forgotten || (th->exited && th->end < t);
}

/* Marks what is needed. */
void forgetting_choose(struct forgetting *g);

#endif
