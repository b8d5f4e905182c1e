/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending_call - the peer that a thread waits for until a timeout.
 *
 * A thread that has sent a call and waits with a timeout, in a poll or for the socket itself, waits
 * for that peer, even if a timer ends the wait because no reply came.
 */
#ifndef SONDE_ANALYSE_PENDING_CALL_H
#define SONDE_ANALYSE_PENDING_CALL_H

#include "model/model.h"

/* The call that was pending in a wait that a timer ended; NULL if there was none. */
const struct message *pending_call(const struct model *model, thread_id id,
				   const struct stretch *wait);

#endif
