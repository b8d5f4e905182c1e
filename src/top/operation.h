/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operation - the rows of top: requests that do the same.
 *
 * A recorded root span has a service and an operation.  A rebuilt request has the address that it
 * came to, and the services that its handling called: two kinds of requests to one address
 * often call different ones.  Neither order nor number of calls counts, since both vary with load.
 *
 * A table holds OPERATIONS_MAX rows.  If there are more, those with the least time become one,
 * "others", so that a program with a new name for each request costs no memory.
 */
#ifndef SONDE_TOP_OPERATION_H
#define SONDE_TOP_OPERATION_H

#include "base/map.h"
#include "model/span_set.h"
#include "top/costs.h"
#include "top/seconds.h"

enum { OPERATIONS_MAX = 1000 };

struct ended_request {
	span_id span;
	nsec_t latency;
};

struct operation {
	uint64_t key;
	uint64_t entry; /* hash of the address, or of service and name */
	char *service, *name;
	uint64_t last; /* second of the last request */
	struct seconds seconds;
	struct costs costs[SECONDS_EXACT]; /* by second modulo their number */
	bool is_idle;

	VEC(struct ended_request) batch; /* not accounted yet; spans are valid in this batch */
	latencies ages;                  /* of requests in flight, unless they only wait for work */
	uint64_t in_flight;
	nsec_t oldest; /* age of the oldest request in flight */

	nsec_t slowest; /* latency of the explained request */
	uint64_t slowest_second;
	char *explanation;
};

/* Names of the last request, as numbers of its span set, and their hash. */
struct last_entry {
	bool is_valid;
	str_id service, operation;
	uint64_t key;
};

struct operations {
	VEC(struct operation *) items;
	struct map index;       /* key -> index + 1 */
	struct map entries;     /* entry -> index + 1 of its busiest operation */
	struct operation *rest; /* "others"; NULL if there are none */
	uint64_t second;        /* current one */
	struct last_entry last_entry;
};

void operations_done(struct operations *operations);

/* The operation of a root span, made if it is missing. */
struct operation *operations_find(struct operations *operations, const struct span_set *spans,
				  span_id root);

/*
 * What a request in flight will call is unknown, so it counts for the busiest operation with its
 * address or name.  Call operations_index_entries() first; afterwards until the next change, this
 * finds the operation, made if it is missing.
 */
void operations_index_entries(struct operations *operations);
struct operation *operations_find_entry(struct operations *operations, const struct span_set *spans,
					span_id root);

/* Ends the seconds before this one; removes operations without requests for TOP_SECONDS. */
void operations_advance(struct operations *operations, uint64_t second);

/* Call before the span set changes.  Keeps OPERATIONS_MAX. */
void operations_end_batch(struct operations *operations);

#endif
