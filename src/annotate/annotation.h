/* SPDX-License-Identifier: Apache-2.0 */
/*
 * annotation - what sonde adds to a slow span: attributes, and child spans for its waits.
 *
 * The attributes are those of `sonde export`: the time of the span's threads in each state,
 * queueing before it began, the critical path by state, and the cause that took most of it.
 *
 * A child span is a wait of a thread that worked for the span, or, below such a wait, what the
 * thread did that ended it.  It is named after the system call, or else after the state.  Waits of
 * the same thread for the same thing, one after another, are one child with their number and the
 * sum of their time.  Of more than a fixed number of children, the shortest are left out and
 * counted.  A recorded system call is a child span, too (calls.h).  The id of a child is derived
 * from trace, span, thread and time, so that the same wait always has the same id.
 */
#ifndef SONDE_ANNOTATE_ANNOTATION_H
#define SONDE_ANNOTATE_ANNOTATION_H

#include "annotate/governor.h"
#include "model/span_set.h"
#include "otlp/trace.h"

enum { ANNOTATION_SPANS = 64 };

struct annotation_options {
	int64_t realtime; /* ns to add to times to get CLOCK_REALTIME */
	size_t spans_max; /* child spans */
	nsec_t limit;     /* threshold of the span; 0 without one */
	/*
	 * The span as it was exported, CLOCK_REALTIME: child spans are inside of it, although the
	 * agent sees it begin earlier, and a joined request takes longer.  end 0: no bounds.
	 */
	nsec_t start, end;
	bool reduced[DETAIL_COUNT]; /* details that were not recorded during all of the span */
};

struct annotation {
	struct otlp_writer attributes; /* encoded attributes of the span */
	struct otlp_writer children;   /* encoded spans of a scope */
	size_t span_count;             /* number of children */
};

/* False if nothing is recorded of the threads of the span: then the result is empty. */
bool annotation_find(const struct span_set *spans, span_id span,
		     const struct annotation_options *options, struct annotation *ret);
void annotation_done(struct annotation *annotation);

/*
 * An annotation of a span that was forwarded before: a child span that takes the same time and has
 * the attributes, and the waits.  `request` has begun a scope.
 */
void annotation_put_late(struct annotation *annotation, const struct otlp_span *span,
			 struct otlp_writer *request);

#endif
