/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_work - who works for a span, and when.
 *
 * Without contexts a span has one thread, and all that this thread does while
 * the span lasts is taken for the span's.  That is wrong where tasks take turns
 * on a thread, or a task moves from one to another.  Contexts tell better:
 *
 * - a thread that is in the span, or in one below it, works for it;
 * - where no thread is, the task waits; what it waits for is the thread that will be
 *   in it next.  If that one is idle meanwhile, it waits for what the task waits for.
 *   If it is in another span, that is who keeps the task from going on.
 *
 * A span's begin is told before it is entered, and its end after it is left; so
 * before it is first entered and after it is last left, a thread that is in a span
 * above it works for it, too.  Where nothing is known of a thread, or only that it is
 * in some span of the same trace that was not recorded, it is taken to work for
 * the span, as it is without contexts.
 */
#ifndef SONDE_ANALYSE_SPAN_WORK_H
#define SONDE_ANALYSE_SPAN_WORK_H

#include "analyse/span_lanes.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/span_set.h"

/* A part of a span's time. */
struct work {
	nsec_t start, end;
	thread_id thread; /* that tells of it; nobody if none is known */
	uint32_t other;   /* the span that this one works for instead, as model_span_ref() has it */
};

struct span_work {
	VEC(struct work) items;
	struct map threads;           /* by span: what span_work_thread() found */
	VEC(struct span_lanes) lanes; /* of spans that contexts name */
	struct map lane_index;        /* span -> index + 1 */
};

void span_work_done(struct span_work *work);

/* Whether we can say what a thread did: it is recorded, and not the kernel's plumbing. */
bool thread_is_followed(const struct model *model, thread_id id);

/* The thread of a span without contexts: its own, or that of the nearest span above it. */
thread_id span_work_thread(struct span_work *work, const struct span_set *spans, span_id id);

/*
 * The parts of a span's time between two times, without gap; appended.  Quick if the times of a
 * span come in order.
 */
void span_work_find(const struct span_set *spans, span_id span, nsec_t from, nsec_t to,
		    struct span_work *ret);

#endif
