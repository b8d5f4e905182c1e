/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path - the bounded critical path over the execution graph.
 *
 * Go along the thread's intervals.  Time in which it ran, or could have run, is
 * its own.  Time in which it was blocked belongs to whoever ended the wait: its
 * waker, or the sender of the message it waited for.  So go to that thread, and
 * along *its* intervals, from the begin of the wait (the bound) to its end; it
 * may have been blocked meanwhile, which is resolved in the same way.
 *
 * That ends, because a wait inside a wait is shorter: whoever wakes somebody is
 * running at that moment.  If the waker's line begins after the bound, its
 * creator did the rest, or else whoever sent the first message it got.  What
 * stays unresolved stays blocked, with its letter.
 *
 * This is the algorithm of the diagnosis paper (section 3) and of the tool it
 * builds on; data/critical-path-graphs describes its corner cases.
 */
#include "analyse/path.h"

#include "analyse/span_path.h"

enum { DEPTH_MAX = 128 };

/* Who ended a wait, and when it was last their doing. */
struct resolver {
	thread_id thread;
	nsec_t at;
};

struct walk {
	const struct model *model;
	struct path *path;
	span_id span;
};

void path_done(struct path *path)
{
	vec_done(&path->steps);
}

static bool is_blocked(uint8_t state)
{
	return state != STATE_RUNNING && state != STATE_READY && state != STATE_THROTTLED &&
	       state != STATE_GAP;
}

static uint32_t push(struct walk *w, uint32_t parent, struct step step)
{
	step.span = w->span;
	step.parent = parent;
	step.depth = parent ? w->path->steps.items[parent - 1].depth + 1 : 0;
	step.is_leaf = true;
	if (parent)
		w->path->steps.items[parent - 1].is_leaf = false;
	*vec_push(&w->path->steps) = step;
	return w->path->steps.count;
}

/* Whether we can say what a thread did: it is recorded, and not the kernel's plumbing. */
static bool is_followed(const struct model *model, thread_id id)
{
	const struct thread *thread = model_thread(model, id);

	return id.i && !thread->neighbour && !thread->kernel;
}

/*
 * The message that a thread waited for: the first it received after it was
 * woken, and before it blocked again.
 */
static const struct message *awaited_message(const struct model *model, thread_id id,
					     const struct stretch *wait)
{
	const struct line *line = model_thread(model, id)->lines[LINE_MESSAGES];
	struct stretch next = *wait;
	nsec_t until = UINT64_MAX;
	line_pos pos;

	if (!line)
		return NULL;
	while (model_stretch_next(model, id, &next))
		if (is_blocked(next.interval.state)) {
			until = next.interval.start;
			break;
		}
	if (!line_find(line, wait->end, &pos) ? !line_first(line, &pos) : !line_next(line, &pos))
		return NULL;
	do {
		const struct message *m = line_at(line, pos);

		if (m->time > until)
			break;
		if (m->direction == MESSAGE_RECEIVE)
			return m;
	} while (line_next(line, &pos));
	return NULL;
}

static bool resolve(const struct model *model, thread_id id, const struct stretch *wait,
		    struct resolver *ret)
{
	const struct cause *cause = model_cause(model, id, &wait->interval);

	if (!cause || wait->interval.flags & INTERVAL_OPEN)
		return false;
	if (cause->context == WAKE_TASK && wait->interval.state != STATE_NETWORK) {
		*ret = (struct resolver){ cause->waker, wait->end };
		return is_followed(model, cause->waker) && cause->waker.i != id.i;
	}
	if (wait->interval.state != STATE_NETWORK && wait->interval.state != STATE_PROCESS)
		return false;

	const struct message *m = awaited_message(model, id, wait);

	if (!m || !is_followed(model, m->other) || m->other.i == id.i)
		return false;
	/* a send is stamped when it returns, which may be after it has woken the receiver */
	*ret = (struct resolver){ m->other, m->other_time < wait->end ? m->other_time : wait->end };
	return ret->at > wait->interval.start;
}

static void walk(struct walk *w, thread_id id, nsec_t from, nsec_t to, uint32_t parent);

/* The first message that a thread got from somebody we can follow, in a stretch of its life. */
static const struct message *first_message(const struct model *model, thread_id id, nsec_t from,
					   nsec_t to)
{
	const struct line *line = model_thread(model, id)->lines[LINE_MESSAGES];
	line_pos pos;

	if (!line || !line_first(line, &pos))
		return NULL;
	do {
		const struct message *m = line_at(line, pos);

		if (m->time > to)
			break;
		if (m->time >= from && m->direction == MESSAGE_RECEIVE &&
		    is_followed(model, m->other) && m->other_time < m->time)
			return m;
	} while (line_next(line, &pos));
	return NULL;
}

static void push_rest(struct walk *w, uint32_t parent, thread_id id, uint8_t state, uint8_t flags,
		      nsec_t from, nsec_t to)
{
	if (from < to)
		push(w, parent,
		     (struct step){ .start = from,
				    .end = to,
				    .begin = from,
				    .thread = id,
				    .state = state,
				    .flags = flags });
}

/*
 * Walk a resolver from the bound.  Returns false, with nothing pushed, if its
 * line begins later and nobody is known to have done the rest.
 */
static void walk_resolver(struct walk *w, thread_id id, nsec_t bound, nsec_t to, uint32_t parent)
{
	const struct thread *thread = model_thread(w->model, id);

	if (thread->begin <= bound) {
		walk(w, id, bound, to, parent);
		return;
	}
	if (thread->begin >= to) { /* heard of only now */
		push_rest(w, parent, id, STATE_BLOCKED, STEP_UNEXPLAINED, bound, to);
		return;
	}
	if (is_followed(w->model, thread->parent)) {
		walk_resolver(w, thread->parent, bound, thread->begin, parent);
		walk(w, id, thread->begin, to, parent);
		return;
	}

	const struct message *m = first_message(w->model, id, thread->begin, to);

	if (m && m->other_time > bound) {
		walk_resolver(w, m->other, bound, m->other_time, parent);
		push_rest(w, parent, id, STATE_NETWORK, STEP_TRANSIT, m->other_time, m->time);
		walk(w, id, m->time, to, parent);
		return;
	}
	push_rest(w, parent, id, STATE_BLOCKED, STEP_UNEXPLAINED, bound, thread->begin);
	walk(w, id, thread->begin, to, parent);
}

static void walk_wait(struct walk *w, thread_id id, const struct stretch *wait, nsec_t from,
		      nsec_t to, uint32_t step)
{
	struct resolver r;

	if (to < wait->end || w->path->steps.items[step - 1].depth >= DEPTH_MAX ||
	    !resolve(w->model, id, wait, &r) || r.at <= from)
		return;
	walk_resolver(w, r.thread, from, r.at, step);
	push_rest(w, step, id, wait->interval.state, STEP_TRANSIT, r.at, to);
}

/* The steps of a thread between two times. */
static void walk(struct walk *w, thread_id id, nsec_t from, nsec_t to, uint32_t parent)
{
	struct stretch s;
	bool more = model_stretch_at(w->model, id, from, &s);
	nsec_t at = from;

	for (; more && at < to && s.interval.start < to;
	     more = model_stretch_next(w->model, id, &s)) {
		nsec_t end = s.end < to ? s.end : to;
		uint32_t step =
			push(w, parent,
			     (struct step){ .start = at,
					    .end = end,
					    .begin = s.interval.start,
					    .thread = id,
					    .cpu = s.interval.cpu,
					    .preempted = s.interval.flags & INTERVAL_PREEMPTED,
					    .state = s.interval.state });

		if (is_blocked(s.interval.state))
			walk_wait(w, id, &s, at, end, step);
		at = end;
	}
	push_rest(w, parent, id, STATE_GAP, STEP_UNEXPLAINED, at, to);
}

void path_of_thread(const struct model *model, thread_id thread, nsec_t from, nsec_t to,
		    struct path *path)
{
	struct walk w = { .model = model, .path = path };

	walk(&w, thread, from, to, 0);
}

/* The thread that tells of a span: its own, or that of the nearest above it. */
static thread_id thread_for(const struct model *model, span_id id)
{
	for (; id.i; id = model_span(model, id)->parent)
		if (is_followed(model, model_span(model, id)->thread))
			return model_span(model, id)->thread;
	return (thread_id){ 0 };
}

void path_of_span(const struct model *model, span_id span, struct path *path)
{
	struct walk w = { .model = model, .path = path };
	struct span_path sections = { 0 };

	span_path_find(model, span, &sections);
	/* they come from the end to the begin */
	for (size_t i = sections.items.count; i-- > 0;) {
		const struct section *s = &sections.items.items[i];
		thread_id thread = thread_for(model, s->span);

		w.span = s->span;
		if (thread.i)
			walk(&w, thread, s->start, s->end, 0);
		else
			push_rest(&w, 0, thread, STATE_GAP, 0, s->start, s->end);
	}
	span_path_done(&sections);
}
