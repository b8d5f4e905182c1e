/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/threshold_stack.h"

#include "analyse/span_work.h"

/* The first sample of a thread between two times. */
static bool find_sample(const struct thread *thread, nsec_t from, nsec_t to,
			struct threshold_stack *ret)
{
	TIMELINE_EACH_BETWEEN(struct sample, s, thread->timelines[TIMELINE_SAMPLES], from, to)
	if (s->stack) {
		*ret = (struct threshold_stack){ s->stack, s->time, true };
		return true;
	}
	return false;
}

/* The first wait with a stack; one that began before counts from `from` on. */
static bool find_wait(const struct model *model, thread_id id, nsec_t from, nsec_t to,
		      struct threshold_stack *ret)
{
	struct stretch s;

	for (bool more = model_stretch_at(model, id, from, &s); more && s.interval.start < to;
	     more = model_stretch_next(model, id, &s)) {
		const struct cause *cause = state_is_blocked(s.interval.state)
						    ? model_cause(model, id, &s.interval)
						    : NULL;
		nsec_t time = s.interval.start > from ? s.interval.start : from;

		if (cause && cause->stack) {
			*ret = (struct threshold_stack){ cause->stack, time, false };
			return true;
		}
	}
	return false;
}

static bool find_in_part(const struct model *model, const struct span_part *part,
			 struct threshold_stack *ret)
{
	const struct thread *thread = model_thread(model, part->thread);
	nsec_t from = part->start > thread->begin ? part->start : thread->begin;
	bool found = find_sample(thread, from, part->end, ret);

	/* only an earlier wait is of interest */
	return find_wait(model, part->thread, from, found ? ret->time : part->end, ret) || found;
}

bool threshold_stack_find(const struct span_set *spans, span_id id, nsec_t from,
			  struct threshold_stack *ret)
{
	_cleanup_(span_work_done) struct span_work work = { 0 };
	nsec_t end = span_set_at(spans, id)->end;

	if (from >= end)
		return false;
	span_work_find(spans, id, from, end, &work);
	for (size_t i = 0; i < work.items.count; i++) {
		const struct span_part *part = &work.items.items[i];

		if (part->thread.i && !part->other && !part->other_span.i &&
		    find_in_part(spans->model, part, ret))
			return true;
	}
	return false;
}

/* Whether the program itself has set the attribute. */
static bool has_own(const struct model *model, span_id id)
{
	struct otlp_put put = { .model = model };

	if (id.i < model_span_count(model))
		put.own = model_span_attributes(model, id);
	return otlp_put_find_own(&put, "code.stacktrace");
}

void threshold_stack_put(struct otlp_put *put, const struct span_set *spans, span_id id,
			 nsec_t limit)
{
	const struct span *span = span_set_at(spans, id);
	struct threshold_stack found;

	if (!limit || has_own(put->model, id) ||
	    !threshold_stack_find(spans, id, span->start + limit, &found))
		return;

	_cleanup_(freep) char *text = model_stack_text(put->model, found.stack, "\n", true);

	otlp_put_text(put, "code.stacktrace", text);
	otlp_put_int(put, "sonde.stack_at", found.time - span->start);
	otlp_put_text(put, "sonde.stack_state", found.is_running ? "running" : "blocked");
}
