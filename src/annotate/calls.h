/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls - the system calls of a span.
 *
 * A call belongs to the innermost span that was open on its thread when it began (own_time.h), and
 * is cut at the end of that span.  Adjacent calls with the same name, and the same error if they
 * failed, are one with a count: recorded calls of a thread, one after the other, without another
 * span in between.
 */
#ifndef SONDE_ANNOTATE_CALLS_H
#define SONDE_ANNOTATE_CALLS_H

#include "base/vec.h"
#include "model/span_set.h"

struct call {
	nsec_t start, end;   /* of the first and the last one */
	nsec_t time;         /* sum of their times */
	int64_t least, most; /* results */
	uint32_t count;
	thread_id thread;
	int16_t nr;
};

struct calls {
	VEC(struct call) items; /* by thread, then by start */
	uint64_t omitted;       /* number of calls that were left out */
};

/* More are not kept at once: a span with more different ones loses its shortest calls. */
enum { CALLS_MAX = 1 << 16 };

/* Linear in the calls of the span's threads during the span. */
void calls_find(const struct span_set *spans, span_id span, struct calls *ret);
void calls_done(struct calls *calls);

/* Index + 1 of the call in which a thread was at some time; 0 if it was in none. */
uint32_t calls_at(const struct calls *calls, const struct model *model, thread_id thread,
		  nsec_t start, nsec_t end);

#endif
