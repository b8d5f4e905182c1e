/* SPDX-License-Identifier: Apache-2.0 */
/*
 * critical_path - the critical path of a trace over all services that report here, as spans.
 *
 * A late child of the root, named "critical path", has the time of each service on the path, and
 * the cause that took most of it: its service, thread and state, and a sentence.  Below it is a
 * span for each of the longest stretches of the path in one service.
 *
 * The service of a step is that of its span.  If its thread is of another process, or its span is a
 * rebuilt request, it is the service of the trace that runs in that process; if there is none, the
 * container or process.
 */
#ifndef SONDE_ANNOTATE_CRITICAL_PATH_H
#define SONDE_ANNOTATE_CRITICAL_PATH_H

#include "model/span_set.h"
#include "otlp/trace.h"

enum {
	CRITICAL_PATH_SPANS = 17,   /* with the one that has the others below it */
	CRITICAL_PATH_SERVICES = 16 /* in attributes: those with most time */
};

struct critical_path_options {
	int64_t realtime;  /* ns to add to times to get CLOCK_REALTIME */
	nsec_t start, end; /* of the root as it was exported, CLOCK_REALTIME */
	size_t spans_max;  /* at most CRITICAL_PATH_SPANS are written */
};

/*
 * Adds the spans to a request that has begun a scope, and returns their number: 0 if the path is
 * in one service only, which the annotation of the root explains as well, or if nothing of it is
 * recorded.
 */
size_t critical_path_put(const struct span_set *spans, span_id root,
			 const struct critical_path_options *options, struct otlp_writer *request);

#endif
