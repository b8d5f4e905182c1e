/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/queueing.h"

#include "analyse/path.h"
#include "event/thread_state.h"

/* A wakeup takes no longer; a wait that ends later was for something else. */
static const nsec_t wakeup_max = 1000000;
/* A woken thread takes no longer to read, unless it does something else first. */
static const nsec_t look_max = 100000;
/* Threads that create the next one; each existed before. */
enum { CREATORS_MAX = 16 };

struct queueing {
	const struct span_set *spans;
	span_id span;
	nsec_t busy_from; /* from then on, the thread that reads does something else */
	struct span_work *work;
};

static bool waits_for_events(const struct model *model, thread_id thread, const struct stretch *s)
{
	const struct cause *cause = model_cause(model, thread, &s->interval);

	if (!cause || (s->interval.state != STATE_NETWORK && s->interval.state != STATE_PROCESS))
		return false;

	enum syscall_class class = syscall_class_of(cause->syscall);

	return class == SYSCALL_POLL || class == SYSCALL_DESCRIPTOR;
}

/* Whether a thread waited for events until shortly before or after t, and is not busy since. */
static bool is_woken(const struct queueing *q, thread_id thread, nsec_t t, struct stretch *s)
{
	const struct model *model = q->spans->model;
	const struct span_slice *slice = span_slice_of_thread(&q->spans->slices, thread, t);
	struct stretch before;

	if (slice && slice->start <= t && slice->span.i != q->span.i)
		return false;
	if (!model_stretch_at(model, thread, t, s))
		return false;
	if (s->interval.state == STATE_READY && !(s->interval.flags & INTERVAL_PREEMPTED))
		return model_stretch_before(model, thread, s->interval.start, &before) &&
		       waits_for_events(model, thread, &before);
	return s->end - t <= wakeup_max && waits_for_events(model, thread, s);
}

/* The time from which a thread does something else than to wake up and read. */
static nsec_t find_busy(const struct queueing *q, thread_id thread, nsec_t from, nsec_t to)
{
	struct stretch s;

	if (!is_woken(q, thread, from, &s))
		return from;

	nsec_t ran = s.end;

	while (ran < to && model_stretch_next(q->spans->model, thread, &s) &&
	       s.interval.state == STATE_READY)
		ran = s.end;
	return ran >= to || to - ran <= look_max ? to : ran;
}

static void push(struct queueing *q, struct span_part part)
{
	if (part.start >= part.end)
		return;
	if (part.start < q->busy_from && q->busy_from < part.end) {
		struct span_part rest = part;

		rest.start = part.end = q->busy_from;
		push(q, part);
		part = rest;
	}
	if (part.start >= q->busy_from)
		part.flags |= STEP_QUEUEING;
	*vec_push(&q->work->items) = part;
}

/* Adds what a thread did, divided by the spans that it worked for. */
static void add_thread(struct queueing *q, thread_id thread, nsec_t from, nsec_t to)
{
	for (int count = 0; from < to; count++) {
		const struct span_slice *slice =
			span_slice_of_thread(&q->spans->slices, thread, from);
		struct span_part part = { .start = from, .end = to, .thread = thread };
		bool inside = slice && slice->start <= from && slice->span.i != q->span.i;

		if (inside && count >= 2 * QUEUE_MAX) {
			part.flags = STEP_BEHIND;
			part.state = STATE_UNKNOWN;
		} else if (slice && slice->start <= from) {
			part.end = slice->end < to ? slice->end : to;
			part.other_span.i = inside ? slice->span.i : 0;
		} else if (slice && slice->start < to) {
			part.end = slice->start;
		}
		push(q, part);
		from = part.end;
	}
}

void queueing_find(const struct span_set *spans, span_id span, nsec_t from, nsec_t to,
		   struct span_work *ret)
{
	const struct model *model = spans->model;
	struct queueing q = { .spans = spans, .span = span, .work = ret };
	thread_id chain[CREATORS_MAX] = { span_work_thread(ret, spans, span) };
	const struct thread *thread;
	size_t count = 1;

	while (count < CREATORS_MAX &&
	       (thread = model_thread(model, chain[count - 1]))->begin > from &&
	       model_thread_is_followed(model, thread->parent) &&
	       model_thread(model, thread->parent)->begin < thread->begin)
		chain[count++] = thread->parent;
	q.busy_from = find_busy(&q, chain[count - 1], from, to);
	for (; count > 0 && from < to; count--) {
		nsec_t end = count > 1 ? model_thread(model, chain[count - 2])->begin : to;

		end = end < to ? end : to;
		add_thread(&q, chain[count - 1], from, end);
		from = end > from ? end : from;
	}
}
