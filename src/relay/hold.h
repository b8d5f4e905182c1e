/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold - requests with slow spans, held back until their annotations have come.
 *
 * Requests leave in the order in which they came, so those behind a held one wait as well.  A
 * request is held until all of its slow spans are answered, but never beyond its deadline; what
 * comes later is a request of its own (annotate/annotation.h).  Memory is bounded: with too many
 * bytes, the oldest requests leave before their deadline.
 */
#ifndef SONDE_RELAY_HOLD_H
#define SONDE_RELAY_HOLD_H

#include "otlp/protobuf.h"

struct hold;

struct hold_options {
	size_t bytes_max; /* of all requests; 0: 32 MiB */
	/* A request leaves, with its annotations.  Takes the body. */
	void (*release)(void *arg, struct pb_buffer *body, uint64_t items, uint64_t annotated);
	void *arg;
};

struct hold *hold_new(const struct hold_options *options);
void hold_free(struct hold *h); /* without releasing anything */
DEFINE_FREEP(hold)

bool hold_is_empty(const struct hold *h);

/* When the next request has to leave; UINT64_MAX if there is none. */
nsec_t hold_deadline(const struct hold *h);

/*
 * Adds a copy of a request; returns its ticket.  `offsets` are those of its slow spans
 * (otlp_span_offset()), in their order.
 */
uint64_t hold_add(struct hold *h, struct view request, uint64_t items, const size_t *offsets,
		  size_t count, nsec_t deadline);

/* The answer for the index-th slow span of a request; both empty if there is none. */
bool hold_annotate(struct hold *h, uint64_t ticket, uint32_t index, struct view attributes,
		   struct view spans);

/* Releases what is complete or due.  With UINT64_MAX, everything. */
void hold_run(struct hold *h, nsec_t now);

#endif
