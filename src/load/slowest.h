/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slowest - choose the slowest requests, entry by entry.
 *
 * An entry is what clients call: an address, or a service and its operation.  One slow request can
 * be an accident; what an entry's slowest requests have in common is worth a look.  So each
 * entry has its latency percentiles and its slow requests: those at or above p95.
 *
 * In a recording of a whole host, most entries are called by other recorded processes: databases,
 * resolvers, queues.  Entries that only clients from outside call come first, then those that both
 * call.  Among equals, entries that only wait for work come last: their requests end when another
 * client sends something, as with BLPOP or a long poll.
 *
 * A request that the kernel recording does not cover can be explained from its spans only.  So if
 * the recording covers any request, the others are left out, and a warning counts the slower ones.
 */
#ifndef SONDE_LOAD_SLOWEST_H
#define SONDE_LOAD_SLOWEST_H

#include "analyse/causes.h"
#include "analyse/latency.h"
#include "load/selection.h"
#include "load/subject.h"

struct request_entry {
	subjects list; /* slowest first */
	struct latency latency;
	size_t slow;       /* number of slow requests, the first in `list` */
	bool from_outside; /* whether a client that was not recorded called it */
	bool from_inside;  /* whether another service called it, too */
	bool is_idle;      /* whether its requests only wait for work */
};

struct slowest {
	subjects list; /* the slowest requests, slowest first */
	VEC(struct request_entry) entries;
	size_t lost;      /* number of requests left out because records were lost in them */
	size_t all;       /* number of requests, including those */
	size_t uncovered; /* number of others left out because the recording does not cover them */
};

void slowest_done(struct slowest *slowest);

/* Finds at most `max` requests. */
int slowest_find(struct loaded *loaded, const struct selection *selection, size_t max,
		 struct slowest *ret, struct err *err);

/* The order of entries: those with a lower rank come first. */
int request_entry_rank(const struct request_entry *entry);

/* Adds up the causes of an entry's slow requests. */
void slowest_causes(const struct loaded *loaded, const struct request_entry *entry,
		    struct cause_sum *ret);

#endif
