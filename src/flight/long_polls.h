/* SPDX-License-Identifier: Apache-2.0 */
/*
 * long_polls - entries with requests that only wait for work, and so are no slow requests.
 *
 * A single request that looks idle (analyse/requests/idle.h) can also be a slow one that waits for
 * a timer.  A long poll is one of an entry where nearly all requests are long and idle.
 */
#ifndef SONDE_FLIGHT_LONG_POLLS_H
#define SONDE_FLIGHT_LONG_POLLS_H

#include "base/map.h"

/* All zero is empty. */
struct long_polls {
	struct map requests; /* entry -> number of requests */
	struct map idle;     /* entry -> number of those that were slow and idle */
};

void long_polls_done(struct long_polls *l);

/* Count a request; returns whether it is a slow request. */
bool long_polls_count(struct long_polls *l, uint64_t entry, bool is_slow, bool is_idle);

#endif
