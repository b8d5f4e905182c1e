/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inferred_spans - rebuilt requests of services without an SDK, exported as spans (--requests).
 *
 * A service without an SDK is a gap in a trace.  Its requests are rebuilt from messages, and the
 * requests and spans around them show where in a trace they belong.  In this order:
 *
 * - A thread sent the request while it worked for a span: the request is a child of that span.
 * - The request was received for another one, which is exported or has a span: it is a child of
 *   that.
 * - A span was served below it, through any number of services without an SDK: these have passed on
 *   the context of the trace, so the parent of that span is the parent of the request, too.
 * - Otherwise, the request is a trace of its own.
 *
 * Spans of SDKs were exported with the parent that the context named, which cannot be changed.  So
 * the span of an SDK below such a request is its sibling, not its child.
 *
 * A request is exported INFERRED_SPANS_DELAY after its end, when the SDKs around it have exported
 * theirs.  The number per second is bounded: more are dropped and counted.
 */
#ifndef SONDE_ANNOTATE_INFERRED_SPANS_H
#define SONDE_ANNOTATE_INFERRED_SPANS_H

#include "annotate/history.h"

#define INFERRED_SPANS_DELAY (6 * NSEC_PER_SEC)

struct inferred_spans;

enum { INFERRED_SKIP_PORTS = 3 };

struct inferred_spans_options {
	uint64_t rate; /* spans per second; 0: default */
	/* requests to these ports are those of the collector; 0: none */
	uint16_t skip_ports[INFERRED_SKIP_PORTS];
	/* an export request */
	void (*fn)(void *arg, struct view request, size_t spans);
	void *arg;
};

struct inferred_spans_counters {
	uint64_t exported;
	uint64_t placed; /* of these, in the trace of an SDK */
	uint64_t shed;   /* above the rate */
};

struct inferred_spans *inferred_spans_new(const struct inferred_spans_options *options);
void inferred_spans_free(struct inferred_spans *x);
DEFINE_FREEP(inferred_spans)

/* Exports the requests that are due.  Does so in intervals; the time between is for others. */
bool inferred_spans_is_due(const struct inferred_spans *x, nsec_t until);
void inferred_spans_run(struct inferred_spans *x, const struct history_view *view);

struct inferred_spans_counters inferred_spans_counters(const struct inferred_spans *x);

#endif
