/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bounded critical path over the execution graph.
 *
 * Walk along the thread's intervals.  Time in which it ran or was runnable is its own.
 * Time in which it was blocked belongs to the thread that ended the wait: its waker, or
 * the sender of the message that it waited for.  So continue with that thread, along
 * its intervals from the start of the wait (the bound) to the end of the wait.  If
 * it was blocked itself during that time, resolve its wait in the same way.
 *
 * The recursion ends because a wait inside a wait is shorter: a waker runs at the moment
 * of the wakeup, and a thread that is waiting on the current branch explains nothing.  If
 * the waker's timeline begins after the bound, the thread that created it explains the
 * rest or, failing that, the sender of the first message that it received.  An
 * unresolved wait stays blocked, with its state.
 *
 * If a wait continues after the end of the period, that end cuts off the rest.  So the
 * path of a shorter period is a prefix of the path of a longer one.
 *
 * The algorithm is the one of Belkhiri and Gohring de Magalhaes, "Towards Efficient Diagnosis
 * of Performance Bottlenecks in Microservice-Based Applications", ICPE 2024, section 3.
 */
#include "analyse/path.h"

#include <string.h>

#include "analyse/episode.h"
#include "analyse/lock_kind.h"
#include "analyse/lock_tenure.h"
#include "analyse/queueing.h"
#include "analyse/resolver.h"
#include "analyse/section_parts.h"
#include "analyse/span_path.h"
#include "analyse/span_work.h"

enum { DEPTH_MAX = 128 };

/* A part of a wait, and the thread that explains it. */
struct leg {
	thread_id thread;
	nsec_t start, end;
	uint16_t flags; /* STEP_...; 0 if the thread's timeline explains it */
	uint8_t state;  /* if flags are set */
	uint8_t held;   /* SENDING: enum held_reason */
};

struct path_walk {
	const struct model *model;
	const struct span_set *spans;
	struct path *path;
	span_id span;
	uint32_t other;
	span_id other_span;
	uint16_t flags; /* STEP_... of steps at the top */
	nsec_t to;      /* end of the part of a span that is walked */
	struct episode_cache episodes;
	VEC(struct leg) legs; /* stack of the open waits; each one's last leg first */
};

void path_done(struct path *path)
{
	vec_done(&path->steps);
}

static uint32_t push(struct path_walk *w, uint32_t parent, struct step step)
{
	step.span = w->span;
	step.other = w->other;
	step.other_span = w->other_span;
	step.flags |= parent ? 0 : w->flags;
	step.parent = parent;
	step.depth = parent ? w->path->steps.items[parent - 1].depth + 1 : 0;
	step.is_leaf = true;
	if (parent)
		w->path->steps.items[parent - 1].is_leaf = false;
	*vec_push(&w->path->steps) = step;
	return w->path->steps.count;
}

/* Whether a thread can explain a wait: not if it waits on the current branch itself. */
static bool may_explain(const struct path_walk *w, thread_id id, uint32_t wait)
{
	for (; wait; wait = w->path->steps.items[wait - 1].parent)
		if (w->path->steps.items[wait - 1].thread.i == id.i)
			return false;
	return model_thread_is_followed(w->model, id);
}

static nsec_t clamp(nsec_t t, nsec_t from, nsec_t to)
{
	return t < from ? from : t < to ? t : to;
}

/* Finds the thread that explains a wait, and notes in its step what the thread waited for. */
static bool resolve(const struct path_walk *w, thread_id id, const struct episode *episode,
		    uint32_t number, struct resolver *ret)
{
	struct step *step = &w->path->steps.items[number - 1];
	bool found = resolver_find(
		w->model,
		&(struct resolver_wait){ id, episode, step->start, step->end,
					 w->spans ? span_set_at(w->spans, w->span)->socket : 0 },
		ret);

	if (ret->is_parked) {
		step->state = STATE_UNKNOWN;
		step->flags |= STEP_PARKED;
	}
	if (ret->state)
		step->state = ret->state;
	if (ret->socket)
		step->socket = ret->socket;
	return found && may_explain(w, ret->thread, number);
}

static void walk_thread(struct path_walk *w, thread_id id, nsec_t from, nsec_t to, uint32_t parent);

/* The first message that a thread received from another thread between two times. */
static const struct message *first_message(const struct path_walk *w, thread_id id, nsec_t from,
					   nsec_t to, uint32_t wait)
{
	const struct timeline *timeline = model_thread(w->model, id)->timelines[TIMELINE_MESSAGES];
	timeline_pos pos;

	if (!timeline_from(timeline, from, &pos))
		return NULL;
	do {
		const struct message *m = timeline_at(timeline, pos);

		if (m->time > to)
			break;
		if (m->direction == MESSAGE_RECEIVE && m->other_time < m->time &&
		    m->other.i != id.i && may_explain(w, m->other, wait))
			return m;
	} while (timeline_next(timeline, &pos));
	return NULL;
}

/* Pushes a step that is not an interval of its thread's timeline, unless it is empty. */
static void push_rest(struct path_walk *w, uint32_t parent, const struct leg *leg)
{
	if (leg->start < leg->end)
		push(w, parent,
		     (struct step){ .start = leg->start,
				    .end = leg->end,
				    .begin = leg->start,
				    .decider =
					    parent ? w->path->steps.items[parent - 1].decider : 0,
				    .thread = leg->thread,
				    .state = leg->state,
				    .held = leg->held,
				    .flags = leg->flags });
}

static void push_leg(struct path_walk *w, thread_id id, nsec_t start, nsec_t end, uint16_t flags,
		     uint8_t state)
{
	*vec_push(&w->legs) = (struct leg){ id, start, end, flags, state, 0 };
}

/* Pushes the legs from the bound to the time at which thread id ended the wait, backwards. */
static void find_legs(struct path_walk *w, thread_id id, nsec_t bound, nsec_t to, uint32_t wait)
{
	const struct thread *thread;

	while ((thread = model_thread(w->model, id))->begin > bound && thread->begin < to) {
		const struct message *m;

		if (may_explain(w, thread->parent, wait)) {
			push_leg(w, id, thread->begin, to, 0, 0);
			to = thread->begin;
			id = thread->parent;
			continue;
		}
		m = first_message(w, id, thread->begin, to, wait);
		if (!m || m->other_time <= bound) {
			push_leg(w, id, thread->begin, to, 0, 0);
			push_leg(w, id, bound, thread->begin, STEP_UNEXPLAINED, STATE_UNKNOWN);
			return;
		}
		push_leg(w, id, m->time, to, 0, 0);
		push_leg(w, m->other, m->other_time, m->time, STEP_TRANSIT, STATE_NETWORK);
		to = m->other_time;
		id = m->other;
	}
	/* nothing is recorded of a thread that begins after the bound */
	push_leg(w, id, bound, to, thread->begin <= bound ? 0 : STEP_UNEXPLAINED, STATE_UNKNOWN);
}

/* The same for a wait of thread `waiter` for a lock, which several threads can have held in turn.
 */
static void find_lock_legs(struct path_walk *w, thread_id waiter, const struct episode *episode,
			   thread_id id, nsec_t bound, nsec_t to, uint32_t wait)
{
	enum { HOLDERS_MAX = 64 };
	const struct cause *lock = model_cause(w->model, waiter, &episode->last.interval);

	for (int i = 0; i < HOLDERS_MAX && episode->state == STATE_LOCK; i++) {
		struct lock_tenure t = lock_tenure_of(w->model, id, lock, bound, to);

		if (t.since <= bound)
			break;
		push_leg(w, id, t.since, to, 0, 0);
		to = t.since;
		if (!may_explain(w, t.before, wait)) {
			push_leg(w, waiter, bound, to, STEP_HELD_BEFORE, STATE_LOCK);
			return;
		}
		id = t.before;
	}
	find_legs(w, id, bound, to, wait);
}

/* Whether a thread with this slice works for a request other than that of the path. */
static bool is_other_request(const struct path_walk *w, const struct span_slice *slice)
{
	const uint8_t *own = span_set_at(w->spans, w->span)->trace;

	return memcmp(span_set_at(w->spans, slice->span)->trace, own, 16) != 0;
}

/* Whether a wait is for the JVM, which stops its threads for none of its requests. */
static bool is_safepoint(const struct path_walk *w, uint32_t wait)
{
	const struct step *s = &w->path->steps.items[wait - 1];
	const struct cause *cause =
		model_cause(w->model, s->thread, &(struct interval){ .start = s->decider });

	return lock_kind_of(w->model, s->thread, s->state, cause) == LOCK_SAFEPOINT;
}

/* Adds the steps of a thread that explains a wait, divided by the requests that it works for. */
static void walk_leg(struct path_walk *w, const struct leg *leg, uint32_t wait)
{
	const struct span_slices *slices =
		w->spans && !is_safepoint(w, wait) ? &w->spans->slices : NULL;
	const struct span_slice *slice;
	span_id other = w->other_span;

	for (nsec_t at = leg->start, end; at < leg->end; at = end) {
		slice = slices ? span_slice_of_thread(slices, leg->thread, at) : NULL;
		end = leg->end;
		if (slice && slice->start > at)
			end = slice->start < end ? slice->start : end;
		else if (slice)
			end = slice->end < end ? slice->end : end;
		w->other_span = (span_id){ 0 };
		if (slice && slice->start <= at && is_other_request(w, slice))
			w->other_span = slice->span;
		walk_thread(w, leg->thread, at, end, wait);
	}
	w->other_span = other;
}

/* Pushes the legs of a message that was sent and not received yet, backwards. */
static void push_transit(struct path_walk *w, const struct resolver *r, nsec_t from, nsec_t to,
			 uint8_t state)
{
	nsec_t left = clamp(r->left, from, to);

	push_leg(w, r->thread, left, to, STEP_TRANSIT, state);
	if (from < left)
		*vec_push(&w->legs) =
			(struct leg){ r->thread, from, left, STEP_SENDING, state, r->held };
}

/* Explains a wait that ends at `wait_end`, or a part of it up to `to`, by the end of its episode.
 */
static void walk_wait(struct path_walk *w, thread_id id, const struct episode *episode,
		      nsec_t wait_end, nsec_t from, nsec_t to, uint32_t step)
{
	size_t first = w->legs.count;
	struct resolver r;

	if (w->path->steps.items[step - 1].depth >= DEPTH_MAX || !resolve(w, id, episode, step, &r))
		return;

	nsec_t at = r.at < from ? from : r.at < wait_end ? r.at : wait_end;

	w->path->steps.items[step - 1].ender = r.thread;
	push_transit(w, &r, at, wait_end, episode->state);
	if (from < at)
		find_lock_legs(w, id, episode, r.thread, from, at, step);
	while (w->legs.count > first) {
		struct leg leg = w->legs.items[--w->legs.count];

		leg.end = leg.end < to ? leg.end : to;
		if (leg.flags || leg.start >= leg.end)
			push_rest(w, step, &leg);
		else
			walk_leg(w, &leg, step);
	}
}

static uint32_t push_stretch(struct path_walk *w, thread_id id, const struct stretch *s,
			     nsec_t from, nsec_t to, uint32_t parent)
{
	return push(w, parent,
		    (struct step){ .start = from,
				   .end = to,
				   .begin = s->interval.start,
				   .decider = s->interval.start,
				   .thread = id,
				   .cpu = s->interval.cpu,
				   .preempted = s->interval.flags & INTERVAL_PREEMPTED,
				   .state = s->interval.state });
}

/*
 * A thread that only sleeps polls for something if it does so for one request; a thread that
 * explains a wait can as well sleep in each of its jobs.
 */
static void walk_blocked(struct path_walk *w, thread_id id, const struct episode *episode,
			 nsec_t wait_end, uint32_t at)
{
	struct step *step = &w->path->steps.items[at - 1];
	nsec_t start = step->start, end = step->end;
	bool is_polling = episode->is_polling && !step->parent && !step->flags &&
			  w->other_span.i == 0 && episode->last.end <= w->to;

	step->state = episode->state;
	step->decider = episode->last.interval.start;
	if (is_polling)
		step->flags |= STEP_POLLING;
	walk_wait(w, id, episode, wait_end, start, end, at);
}

/* Adds the steps of a thread between two times. */
static void walk_thread(struct path_walk *w, thread_id id, nsec_t from, nsec_t to, uint32_t parent)
{
	nsec_t begin = model_thread(w->model, id)->begin, at = from;
	struct stretch s;
	bool more = model_stretch_at(w->model, id, from, &s);

	if (!more && from < begin && begin < to) {
		push_rest(w, parent,
			  &(struct leg){ id, from, begin, STEP_UNEXPLAINED, STATE_GAP, 0 });
		at = begin;
		more = model_stretch_at(w->model, id, begin, &s);
	}
	for (; more && at < to && s.interval.start < to;
	     more = model_stretch_next(w->model, id, &s)) {
		nsec_t end = s.end < to ? s.end : to;
		uint32_t step = push_stretch(w, id, &s, at, end, parent);

		if (state_is_blocked(s.interval.state)) {
			struct episode episode = episode_cached(&w->episodes, w->model, id, &s);

			walk_blocked(w, id, &episode, s.end, step);
		}
		at = end;
	}
	push_rest(w, parent, &(struct leg){ id, at, to, STEP_UNEXPLAINED, STATE_GAP, 0 });
}

void path_of_thread(const struct model *model, thread_id thread, nsec_t from, nsec_t to,
		    struct path *path)
{
	struct path_walk w = { .model = model, .path = path, .to = UINT64_MAX };

	walk_thread(&w, thread, from, to, 0);
	episode_cache_done(&w.episodes);
	vec_done(&w.legs);
}

static void walk_part(struct path_walk *w, const struct span_part *part)
{
	w->other = part->other;
	w->other_span = part->other_span;
	w->flags = part->flags & ~STEP_DERIVED;
	w->to = part->end;
	if (part->flags & STEP_DERIVED)
		push(w, 0,
		     (struct step){ .start = part->start,
				    .end = part->end,
				    .begin = part->start,
				    .thread = part->thread,
				    .socket = part->socket,
				    .state = part->state,
				    .flags = part->flags });
	else if (part->thread.i)
		walk_thread(w, part->thread, part->start, part->end, 0);
	else
		push_rest(w, 0,
			  &(struct leg){ part->thread, part->start, part->end, 0, STATE_GAP, 0 });
}

static void walk_parts(struct path_walk *w, const struct span_work *work)
{
	for (size_t i = 0; i < work->items.count; i++)
		walk_part(w, &work->items.items[i]);
}

static void walk_queueing(struct path_walk *w, nsec_t from, nsec_t to, struct span_work *work)
{
	work->items.count = 0;
	queueing_find(w->spans, w->span, from, to, work);
	walk_parts(w, work);
}

static void walk_work(struct path_walk *w, const struct span_section *s, span_id next,
		      struct span_work *work)
{
	work->items.count = 0;
	section_parts_find(w->spans, s, section_owner(w->spans, s->span), next, work);
	walk_parts(w, work);
}

static void walk_section(struct path_walk *w, const struct span_section *s, span_id next,
			 struct span_work *work)
{
	const struct span *span = span_set_at(w->spans, s->span);
	nsec_t read = clamp(span->read, s->start, s->end);
	nsec_t sent = span->sent ? clamp(span->sent, read, s->end) : s->end;

	w->span = s->span;
	if (s->start < read)
		walk_queueing(w, s->start, read, work);
	if (read < sent)
		walk_work(w, &(struct span_section){ s->span, read, sent }, next, work);
	w->other = 0;
	w->other_span.i = w->flags = 0;
	push_rest(w, 0,
		  &(struct leg){ span_work_thread(work, w->spans, s->span), sent, s->end,
				 STEP_SENDING, STATE_NETWORK, span->held });
}

void path_of_span(const struct span_set *spans, span_id span, struct path *path)
{
	struct path_walk w = { .model = spans->model, .spans = spans, .path = path };
	struct span_path sections = { 0 };
	struct span_work work = { 0 };

	span_path_find(spans, span, &sections);
	/* sections are sorted from the end to the start */
	for (size_t i = sections.items.count; i-- > 0;) {
		span_id next = i ? sections.items.items[i - 1].span : (span_id){ 0 };

		walk_section(&w, &sections.items.items[i], next, &work);
	}
	span_work_done(&work);
	episode_cache_done(&w.episodes);
	vec_done(&w.legs);
	span_path_done(&sections);
}
