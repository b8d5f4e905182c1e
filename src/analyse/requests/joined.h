/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joined - one tree of recorded spans and rebuilt requests.
 *
 * A request that a recorded span serves (analyse/span_join.h) has no span of its own: the recorded
 * span stands for it, with the request's thread, arrival, read and reply.  The spans above and
 * below the request in its tree go above and below the recorded span: its calls below the innermost
 * span, such as that of a database client, whose time contains them.
 */
#ifndef SONDE_ANALYSE_REQUESTS_JOINED_H
#define SONDE_ANALYSE_REQUESTS_JOINED_H

#include "analyse/requests/requests.h"
#include "analyse/span_join.h"
#include "model/span_set.h"

/* Unites the spans of a set; `ids` has the span of each request. */
void joined_spans_link(struct span_set *set, const struct requests *requests,
		       const struct span_join *join, const span_id *ids);

#endif
