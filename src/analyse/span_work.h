/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_work - which thread works for a span, and when.
 *
 * Without contexts, a span has one thread, and all that this thread does during the span
 * counts for the span.  That is wrong if tasks share a thread, or if a task moves from
 * one thread to another.  Contexts are more precise:
 *
 * - A thread with the span or a descendant as context works for the span.
 * - While no thread does, the task waits for the thread that will do so next.  If that
 *   thread is idle meanwhile, it waits for what the task waits for.  If it works for
 *   another span, that span delays the task.
 *
 * An SDK starts a span before it enters the span, and ends it after leaving.  So
 * before the first entry and after the last exit, a thread with an ancestor as context
 * works for the span, too.  If the context of a thread is unknown, or an unrecorded span
 * of the same trace, the thread counts as working for the span, as without contexts.
 */
#ifndef SONDE_ANALYSE_SPAN_WORK_H
#define SONDE_ANALYSE_SPAN_WORK_H

#include "analyse/span_lanes.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/span_set.h"

/* A part of a span's time. */
struct span_part {
	nsec_t start, end;
	thread_id thread;   /* that works for the span or delays it; none if unknown */
	uint32_t other;     /* number for model_span_ref(): span it works for instead; or 0 */
	span_id other_span; /* inferred span that it works for instead; or none */
	uint16_t flags;     /* STEP_... of its steps */
	uint8_t state;      /* of STEP_DERIVED */
	uint64_t socket;    /* of STEP_REMOTE */
};

struct span_work {
	VEC(struct span_part) items;
	struct map threads;           /* span -> result of span_work_thread() */
	VEC(struct span_lanes) lanes; /* of spans with contexts */
	struct map lane_index;        /* span -> index + 1 */
};

void span_work_done(struct span_work *work);

/* The thread of a span without contexts: its own, or that of the nearest ancestor with one. */
thread_id span_work_thread(struct span_work *work, const struct span_set *spans, span_id id);

/*
 * Appends the parts of a span between two times, without gap.  Fast if the times of a span come in
 * order.
 */
void span_work_find(const struct span_set *spans, span_id span, nsec_t from, nsec_t to,
		    struct span_work *ret);

#endif
