/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path - the critical path: what a thread, a span or a request really waited
 * for.
 *
 * A path is a tree of steps.  The steps of the thread in question come first
 * to last; a wait that somebody else ended has under it the steps of that one,
 * for as long as the wait lasted, and so on.  Its leaves tile the time in
 * question, without gap or overlap: every nanosecond has one thread, one state
 * and one cause.
 */
#ifndef SONDE_ANALYSE_PATH_H
#define SONDE_ANALYSE_PATH_H

#include "base/vec.h"
#include "model/span_set.h"

/* A message, from the step's thread, on its way: nobody's doing, or nobody's that was recorded. */
#define STEP_TRANSIT 1
/* The rest of a wait for which nobody was found. */
#define STEP_UNEXPLAINED 2

struct step {
	nsec_t start, end;
	thread_id thread; /* nobody: only the span is known */
	thread_id ender;  /* of a wait: who ended it, if that is somebody we can follow */
	span_id span;     /* on whose behalf */
	uint32_t other;   /* but its thread works for this one, as model_span_ref() has it; or 0 */
	uint32_t parent;  /* the wait it explains, its place in the path plus 1; 0 at the top */
	uint32_t depth;
	nsec_t begin; /* of the whole interval, which the step may be a part of: for model_cause()
		       */
	uint16_t cpu; /* running or ready */
	uint8_t state;
	uint8_t flags;
	bool is_leaf;
	bool preempted; /* ready, and it was not woken but lost the CPU */
};

struct path {
	VEC(struct step) steps; /* each wait before those that explain it */
};

void path_done(struct path *path);

/* What made thread take from `from` to `to`; appended to the path. */
void path_of_thread(const struct model *model, thread_id thread, nsec_t from, nsec_t to,
		    struct path *path);

/*
 * The joined path of a span and all below it: along the spans that were waited
 * for, and within each along the threads that worked for it (span_work.h).  Where no
 * thread of a span is known, that of its parent tells what was waited for.
 */
void path_of_span(const struct span_set *spans, span_id span, struct path *path);

#endif
