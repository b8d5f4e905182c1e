/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/complete.h"

/* An interval ends with a switch: after a slice, the thread is off the CPU, after a wait on it. */
static bool is_on_cpu(const struct thread *thread)
{
	const struct interval *last = timeline_last(&thread->intervals);

	return !thread->exited && (!last || last->state != STATE_RUNNING);
}

/* Whether a thread works at time t for a span or a descendant of it. */
static bool works_for(const struct model *model, thread_id thread, nsec_t t, span_id id)
{
	struct context_stretch c;

	if (!model_context_from(model, thread, t, &c) || !c.context.ref)
		return false;
	return c.context.ref == model_span(model, id)->ref ||
	       model_span_is_within(model, model_span_ref(model, c.context.ref)->span, id);
}

/*
 * Whether a slice of a thread that worked for the span is still to come.  A thread off the CPU did
 * not end the span, and nothing tells when its wait will be recorded.
 */
static bool is_behind(const struct model *model, span_id id, const struct residency *residency)
{
	const struct thread *thread = model_thread(model, residency->thread);

	if (thread->end >= model_span(model, id)->end || !is_on_cpu(thread) ||
	    !model_thread_is_followed(model, residency->thread))
		return false;
	return residency->last > thread->end ||
	       works_for(model, residency->thread, thread->end, id);
}

bool span_is_complete(const struct model *model, span_id id, nsec_t until)
{
	const struct span *span = model_span(model, id);
	const struct thread *thread = model_thread(model, span->thread);
	uint32_t next = model_span_ref(model, span->ref)->first_residency;

	if (until < span->end)
		return false;
	if (until - span->end >= COMPLETE_GRACE)
		return true;
	if (span->thread.i && !thread->exited && thread->end < span->end)
		return false;
	for (; next; next = model_residency(model, next)->next)
		if (is_behind(model, id, model_residency(model, next)))
			return false;
	return true;
}
