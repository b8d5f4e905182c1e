/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_spans - rebuilt requests as spans of the model, like those of an SDK.
 *
 * Whatever works on spans then works on requests of services that nobody
 * instrumented.  A span is told to the model as if it had stood in an input:
 * with its service, its thread and its parent, and an operation, which is the
 * address that the request came to, or how the work came to the thread.
 */
#ifndef SONDE_ANALYSE_REQUESTS_SPANS_H
#define SONDE_ANALYSE_REQUESTS_SPANS_H

#include "analyse/requests/requests.h"

void request_spans_add(struct model *model, const struct requests *requests);

/* "network", "fork" or "handover". */
const char *request_kind_name(enum request_kind kind);

/* The root of a request, and known to be one: from a client, and answered. */
bool request_is_whole(const struct request_span *span);

#endif
