/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle - requests that only wait for work: BLPOP, long polls, subscriptions.
 *
 * Such a request is long because nothing happens, not because anything is slow.  Its server reads
 * it soon, does next to nothing for it, calls no other service, and replies when another client
 * has sent something.  Only an event loop serves like this: a thread that blocks in a request
 * works for it all the time.
 */
#ifndef SONDE_ANALYSE_REQUESTS_IDLE_H
#define SONDE_ANALYSE_REQUESTS_IDLE_H

#include "model/span_set.h"

/* Whether a rebuilt request looks like one; a request that waits for a timer does, too. */
bool request_is_idle(const struct span_set *spans, span_id request);

#endif
