/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_roots - slow roots of traces, until the spans of the other services have come.
 *
 * A root is a span without a parent, or a server span whose parent no service reports here.  Its
 * critical path leads through other services, and their spans come with the next export of
 * each, by default 5 s after their end.  No span is held back for another: the root is forwarded
 * at once, and SLOW_ROOT_DELAY after its end, a late child of it gets the path (critical_path.h).
 *
 * Each root gets one path.  The list is bounded in roots and bytes: the newest are dropped and
 * counted.  So is the time: after each run, the next one waits for ten times the CPU time of it.
 */
#ifndef SONDE_ANNOTATE_SLOW_ROOTS_H
#define SONDE_ANNOTATE_SLOW_ROOTS_H

#include "annotate/history.h"
#include "annotate/recent_counts.h"
#include "otlp/trace.h"

#define SLOW_ROOT_DELAY (6 * NSEC_PER_SEC)

struct slow_roots;

struct slow_roots_options {
	size_t pending_max;           /* roots; 0: default */
	size_t spans_max;             /* child spans per trace */
	struct recent_counts *counts; /* child spans by trace, and roots with a path; borrowed */
	/* a request with the path of a root */
	void (*fn)(void *arg, struct view request, size_t spans);
	void *arg;
};

struct slow_roots_counters {
	uint64_t paths;    /* sent */
	uint64_t too_many; /* roots without one, because too many waited */
};

struct slow_roots *slow_roots_new(const struct slow_roots_options *options);
void slow_roots_free(struct slow_roots *r);
DEFINE_FREEP(slow_roots)

/* Whether a span can be the root of a trace: then add it. */
bool slow_roots_accepts(const struct otlp_span *span);

/* A slow span with valid ids.  Takes `late`, a request that has begun its resource and a scope. */
void slow_roots_add(struct slow_roots *r, const struct otlp_span *span, struct otlp_writer *late);

/* Whether a path is due, and the last run long enough ago. */
bool slow_roots_is_due(const struct slow_roots *r, nsec_t until, int64_t realtime);

/* Sends the paths that are due. */
void slow_roots_run(struct slow_roots *r, const struct history_view *view);

struct slow_roots_counters slow_roots_counters(const struct slow_roots *r);

#endif
