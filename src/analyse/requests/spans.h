/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_spans - rebuilt requests as spans, in the form that SDK spans have.
 *
 * Analyses and reports that work on spans then also work on requests of services without
 * instrumentation.  The spans are added to a span set, beside the recorded ones; the model does not
 * change.  A span's service is the container or process of its thread; its operation is the address
 * that the request came to or, of a call, went to; otherwise, how the thread got the work.
 */
#ifndef SONDE_ANALYSE_REQUESTS_SPANS_H
#define SONDE_ANALYSE_REQUESTS_SPANS_H

#include "analyse/requests/requests.h"
#include "analyse/span_join.h"
#include "model/span_set.h"

/*
 * Adds the spans of all requests to a set of the same model.  A request that is joined with a
 * recorded span is part of that span's tree (joined.h); `join` can be NULL.
 */
void request_spans_add(const struct requests *requests, const struct span_join *join,
		       struct span_set *set);

/* The same; `ids` gets the span of each request. */
void request_spans_add_ids(const struct requests *requests, const struct span_join *join,
			   struct span_set *set, span_id *ids);

/*
 * Adds the spans of all requests, joined with the recorded spans that serve them: spans of SDKs
 * name what the requests did, and requests show what the kernel recorded of them.  If no span
 * serves a recorded request, but the threads of spans are recorded, the spans stand alone: then
 * drops the requests and returns false.  Only what ends at `since` or later is joined.  `ids` gets
 * the span of each request, and `has_joined` is set if spans serve requests, in this call or one
 * before; both can be NULL.
 */
bool request_spans_join(struct requests *requests, struct span_set *set, nsec_t since, span_id *ids,
			bool *has_joined);

/* "network", "fork", "handoff" or "call". */
const char *request_kind_name(enum request_kind kind);

/* Whether a span is the root of a complete request: sent by a client, and with a reply. */
bool request_is_whole(const struct request_span *span);

#endif
