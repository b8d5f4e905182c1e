/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/requests.h"

#include <string.h>
#include <xxhash.h>

#include "analyse/requests_parts.h"
#include "event/machine.h"

static struct worker *worker_of(struct finder *f, uint32_t thread)
{
	return &f->workers[thread];
}

static const struct thread *thread_of(const struct finder *f, uint32_t thread)
{
	return model_thread(f->model, (thread_id){ thread });
}

static struct request_span *span_at(struct finder *f, uint32_t state)
{
	return &f->out->spans.items[state];
}

static uint32_t add_state(struct finder *f, enum request_kind kind, uint32_t thread,
			  uint32_t parent, nsec_t start)
{
	*vec_push(&f->out->spans) = (struct request_span){
		.parent = parent,
		.thread = { thread },
		.start = start,
		.end = start,
		.confidence = 1,
		.kind = kind,
	};
	*vec_push(&f->states) = (struct work){ 0 };
	return f->out->spans.count - 1;
}

/* The request by a connection that a state is work for, in the same process. */
static uint32_t network_of(struct finder *f, uint32_t state)
{
	while (state && span_at(f, state)->kind != REQUEST_NETWORK)
		state = span_at(f, state)->parent;
	return state;
}

/* Whether somebody still waits for what is done for it. */
static bool is_live(struct finder *f, uint32_t state)
{
	bool any = state;

	for (; state; state = span_at(f, state)->parent) {
		if (f->states.items[state].ended)
			return false;
		if (span_at(f, state)->kind == REQUEST_NETWORK)
			return !f->states.items[state].answered;
	}
	return any; /* for whom it is, will be known later */
}

static void extend(struct finder *f, uint32_t state, nsec_t t)
{
	if (state && span_at(f, state)->end < t)
		span_at(f, state)->end = t;
}

static void add_slice(struct finder *f, uint32_t state, uint32_t thread, nsec_t from, nsec_t to)
{
	if (from < to)
		*vec_push(&f->out->slices) = (struct request_slice){ state, { thread }, from, to };
}

static void set_current(struct finder *f, uint32_t thread, uint32_t state, nsec_t now)
{
	struct worker *w = worker_of(f, thread);

	if (w->current == state)
		return;
	if (w->current) {
		add_slice(f, w->current, thread, w->since, now);
		w->last = w->current;
		w->free_since = now;
	}
	w->current = state;
	w->since = now;
	w->acted = false;
}

static void hold(struct finder *f, uint32_t thread, uint32_t state)
{
	struct worker *w = worker_of(f, thread);

	f->states.items[state].next = w->held;
	if (w->held)
		f->states.items[w->held].prev = state;
	w->held = state;
	w->held_count++;
}

static void let_go(struct finder *f, uint32_t thread, uint32_t state)
{
	struct worker *w = worker_of(f, thread);
	struct work *s = &f->states.items[state];

	if (s->prev)
		f->states.items[s->prev].next = s->next;
	else
		w->held = s->next;
	if (s->next)
		f->states.items[s->next].prev = s->prev;
	s->prev = s->next = 0;
	w->held_count--;
}

/* What a thread works for, if that is beyond doubt. */
static uint32_t working_for(struct finder *f, uint32_t thread)
{
	const struct worker *w = worker_of(f, thread);

	if (is_live(f, w->current))
		return w->held_count > 1 && !w->fresh ? 0 : w->current;
	return w->held_count == 1 ? w->held : 0;
}

/* These sends, of which was not known for whom they were, were for this. */
static void settle_thread(struct finder *f, uint32_t *list, uint32_t state, float confidence)
{
	for (uint32_t i = *list; i; i = f->asks.items[i].next_of_thread) {
		struct ask *ask = &f->asks.items[i];

		if (ask->state || ask->contested)
			continue;
		ask->state = state;
		ask->confidence = confidence;
		if (!f->sides.items[ask->side].state)
			f->sides.items[ask->side].state = state;
	}
	*list = 0;
}

static void settle_side(struct finder *f, uint32_t side, uint32_t state, float confidence)
{
	struct side *s = &f->sides.items[side];

	for (uint32_t i = s->asks; i; i = f->asks.items[i].next_of_side) {
		struct ask *ask = &f->asks.items[i];

		if (ask->state && !ask->tentative)
			continue;
		ask->state = state;
		ask->confidence = confidence;
		ask->tentative = false;
	}
	s->asks = 0;
	s->state = state;
	s->tentative = false;
}

/*
 * What a thread sent since it had answered, and nothing told for whom: more for
 * the same, if it is one that receives and answers its requests itself.
 */
static void settle_rest(struct finder *f, uint32_t thread)
{
	struct worker *w = worker_of(f, thread);
	uint32_t last = w->last;
	bool own = last && span_at(f, last)->thread.i == thread &&
		   span_at(f, last)->kind != REQUEST_HANDOVER;

	if (own && w->held_count <= 1 && !w->queue_kind)
		settle_thread(f, &w->asks, last, 0.8f);
	w->asks = 0;
}

/* When the bytes that a thread received came to it: it may have waited for them in its call. */
static nsec_t came_at(const struct finder *f, uint32_t thread, const struct message *m)
{
	const struct thread *t = thread_of(f, thread);
	const struct line *calls = t->lines[LINE_CALLS];
	nsec_t from = 0;
	struct stretch s;
	line_pos pos;

	if (calls && (m->time ? line_find(calls, m->time - 1, &pos) && line_next(calls, &pos)
			      : line_first(calls, &pos))) {
		const struct call *call = line_at(calls, pos);

		from = call->start <= m->time ? call->start : 0;
	} else if (calls && line_first(calls, &pos)) {
		const struct call *call = line_at(calls, pos);

		from = call->start <= m->time && call->end >= m->time ? call->start : 0;
	}
	if (!from)
		return m->time;
	/* behind the last wait in it */
	if (model_stretch_before(f->model, (thread_id){ thread }, m->time, &s) &&
	    s.interval.start > from)
		from = s.interval.start;
	return m->other_time > from && m->other_time <= m->time ? m->other_time : from;
}

/* When the call that a message was sent in returned. */
static nsec_t gone_at(const struct finder *f, uint32_t thread, const struct message *m)
{
	const struct line *calls = thread_of(f, thread)->lines[LINE_CALLS];
	line_pos pos;

	if (!calls)
		return m->time;

	bool found = m->time && line_find(calls, m->time - 1, &pos) ? line_next(calls, &pos)
								    : line_first(calls, &pos);
	const struct call *call = found ? line_at(calls, pos) : NULL;

	return call && call->start <= m->time ? call->end : m->time;
}

static void receive_request(struct finder *f, uint32_t thread, uint32_t side,
			    const struct message *m)
{
	struct worker *w = worker_of(f, thread);
	uint32_t state = f->sides.items[side].state;

	if (!state || f->states.items[state].answered) {
		settle_rest(f, thread);
		state = add_state(f, REQUEST_NETWORK, thread, 0, came_at(f, thread, m));
		span_at(f, state)->socket = m->object;
		f->states.items[state].came = m;
		f->sides.items[side].state = state;
		hold(f, thread, state);
		*map_insert(&f->services, process_key(thread_of(f, thread))) = 1;
	}
	extend(f, state, m->time);
	/* two were read, and nothing was done for the first: what is done now may be for either */
	w->doubt = w->fresh && !w->acted && w->current != state && is_live(f, w->current);
	set_current(f, thread, state,
		    span_at(f, state)->start > w->free_since ? span_at(f, state)->start : m->time);
	w->fresh = true;
	w->unknown_side = 0;
}

static void receive_answer(struct finder *f, uint32_t thread, uint32_t side,
			   const struct message *m)
{
	struct side *s = &f->sides.items[side];
	struct worker *w = worker_of(f, thread);

	s->asked = false;
	w->recent = 0;
	w->heard = m->time;
	if (s->asker)
		worker_of(f, s->asker)->outstanding--;
	s->asker = 0;
	w->unknown_side = s->tentative && !s->ambiguous ? side : 0;
	if (s->ambiguous || !s->state) {
		w->unknown_side = s->ambiguous ? 0 : side;
		if (w->held_count > 1)
			set_current(f, thread, 0, m->time);
		return;
	}
	if (!is_live(f, s->state))
		return;
	extend(f, s->state, m->time);
	/* the state's own thread goes on, or another one that reads answers for it */
	if (span_at(f, s->state)->thread.i == thread || network_of(f, s->state) == s->state)
		set_current(f, thread, s->state, m->time);
	w->fresh = true;
	w->doubt = false;
}

/* A thread works for what another one has read; state is 0 if for what is not known yet. */
static uint32_t add_work(struct finder *f, uint32_t thread, uint32_t state, nsec_t from)
{
	nsec_t start = span_at(f, state)->start;
	uint32_t work = add_state(f, REQUEST_HANDOVER, thread, state, from > start ? from : start);

	if (state && span_at(f, state)->kind == REQUEST_NETWORK)
		f->states.items[state].holder = work;
	return work;
}

/* Now it is known for what. */
static void reassign(struct finder *f, uint32_t work, uint32_t state, float confidence)
{
	struct request_span *span = span_at(f, work);

	span->parent = state;
	span->confidence = confidence;
	if (state && span->start < span_at(f, state)->start)
		span->start = span_at(f, state)->start;
	if (state)
		f->states.items[state].holder = work;
}

/*
 * The work is for this request, and not for the one that its thread was woken
 * for: workers take what is first in the queue, and another one was quicker.  So
 * who was believed to work for this one works for the other.
 */
static void swap_work(struct finder *f, uint32_t work, uint32_t state)
{
	uint32_t was_for = network_of(f, work), holder = f->states.items[state].holder;

	if (was_for == state)
		return;
	if (holder && network_of(f, holder) == state)
		reassign(f, holder, was_for && !f->states.items[was_for].answered ? was_for : 0,
			 0.9f);
	reassign(f, work, state, 0.9f);
}

/* A worker may take a request before its reader has told that it got it. */
enum { TAKE_SLACK = 50 * 1000 };

/* Whether that work can have been for a request: it began after that came. */
static bool may_be_for(struct finder *f, uint32_t work, uint32_t state)
{
	return span_at(f, work)->start + TAKE_SLACK >= span_at(f, state)->start;
}

/* Work that nobody waits for any more: another one has done it, or there was none. */
static bool is_stale(struct finder *f, uint32_t work, uint32_t state)
{
	uint32_t of = network_of(f, work);

	return of ? f->states.items[of].answered : !may_be_for(f, work, state);
}

/* How long it takes from the end of work to its answer, at most, if the reader is awake. */
enum { ANSWER_SLACK = 300 * 1000 };

/* What a worker asked last is for what it took next. */
static void split_work(struct finder *f, uint32_t thread, uint32_t work)
{
	struct worker *w = worker_of(f, thread);
	uint32_t next = add_work(f, thread, 0, w->heard);

	for (uint32_t i = w->recent; i; i = f->asks.items[i].next_recent) {
		struct ask *ask = &f->asks.items[i];

		if (ask->state == work)
			ask->state = next;
		if (f->sides.items[ask->side].state == work)
			f->sides.items[ask->side].state = next;
	}
	span_at(f, work)->end = w->heard;
	extend(f, next, span_at(f, work)->end);
	w->current = next; /* what it did for the first until now is a slice of the second */
}

/*
 * Nobody was seen to be done, as the reader was awake and did not have to be
 * woken.  So it was who is believed to work for it: if he waits for nobody; or if he
 * asked somebody just now, which then was for the next request that he took.
 */
static bool finish_holder(struct finder *f, uint32_t state, nsec_t now)
{
	uint32_t holder = f->states.items[state].holder, thread = span_at(f, holder)->thread.i;
	struct worker *w = worker_of(f, thread);

	if (!holder || w->current != holder)
		return false;
	if (!w->outstanding) {
		f->states.items[holder].ended = true;
		set_current(f, thread, 0, span_at(f, holder)->end);
		return true;
	}
	if (!w->recent || w->heard <= span_at(f, holder)->start || now > w->heard + ANSWER_SLACK)
		return false;
	f->states.items[holder].ended = true;
	split_work(f, thread, holder);
	return true;
}

/* A request is answered by who received it: who was done first has worked for it. */
static void match_done(struct finder *f, struct worker *reader, uint32_t state, nsec_t now)
{
	uint32_t *link = &reader->done, last = 0;

	reader->unclaimed = 0;
	while (*link && !may_be_for(f, *link, state)) {
		struct work *work = &f->states.items[*link];

		if (is_stale(f, *link, state)) {
			*link = work->next_done;
		} else {
			last = *link;
			link = &work->next_done;
		}
	}

	uint32_t work = *link;

	if (!work) {
		reader->done_end = last;
		reader->unclaimed = finish_holder(f, state, now) ? 0 : state;
		return;
	}
	*link = f->states.items[work].next_done;
	if (reader->done_end == work)
		reader->done_end = last;
	if (f->states.items[state].holder || !network_of(f, work))
		swap_work(f, work, state);
}

/* A worker is done with what it does for a request that another thread has read. */
static void work_done(struct finder *f, uint32_t thread, uint32_t reader, nsec_t now)
{
	struct worker *w = worker_of(f, thread), *to = worker_of(f, reader);
	uint32_t work = w->current;

	extend(f, work, now);
	f->states.items[work].ended = true;
	set_current(f, thread, 0, now);
	if (to->done)
		f->states.items[to->done_end].next_done = work;
	else
		to->done = work;
	to->done_end = work;
}

/* A thread answers what another one has read: it has worked for that. */
static void answer_for(struct finder *f, uint32_t thread, uint32_t state)
{
	struct worker *w = worker_of(f, thread);
	struct request_span *current = span_at(f, w->current);

	if (w->current && current->kind == REQUEST_HANDOVER) {
		swap_work(f, w->current, state);
		return;
	}

	uint32_t work = add_work(f, thread, state, w->free_since);

	settle_thread(f, &w->asks, work, 0.95f);
	set_current(f, thread, work, span_at(f, work)->start);
}

/*
 * Another answer, though nothing was read: the client sent several requests at
 * once, and they are handled one after the other.  What has no sub-requests
 * cannot be told from one long answer.
 */
static uint32_t next_in_line(struct finder *f, uint32_t thread, uint32_t side, uint32_t state)
{
	uint32_t next = add_state(f, REQUEST_NETWORK, thread, 0, span_at(f, state)->end);

	span_at(f, next)->socket = span_at(f, state)->socket;
	f->states.items[next].came = f->states.items[state].came;
	f->sides.items[side].state = next;
	hold(f, thread, next);
	return next;
}

static void send_answer(struct finder *f, uint32_t thread, uint32_t side, const struct message *m)
{
	struct worker *w = worker_of(f, thread);
	uint32_t state = f->sides.items[side].state;

	if (!state)
		return; /* a server that speaks first */
	if (f->states.items[state].answered && (w->asks || w->unknown_side))
		state = next_in_line(f, thread, side, state);

	uint32_t receiver = span_at(f, state)->thread.i;

	if (thread != receiver && network_of(f, w->current) != state)
		answer_for(f, thread, state);
	else if (w->unknown_side)
		settle_side(f, w->unknown_side, state, 0.9f);
	if (thread == receiver && w->held_count <= 1)
		settle_thread(f, &w->asks, state, 0.95f);
	if (thread == receiver && (f->states.items[state].holder || w->done) &&
	    !f->states.items[state].answered)
		match_done(f, w, state, m->time);
	if (!f->states.items[state].answered)
		let_go(f, receiver, state);
	f->states.items[state].answered = true;
	extend(f, state, gone_at(f, thread, m));
	extend(f, w->current, m->time);
	set_current(f, thread, 0, m->time);
	w->unknown_side = 0;
}

/* A send whose state is not certain waits for what tells. */
static void keep_ask(struct finder *f, struct worker *w, struct side *s, uint32_t place)
{
	struct ask *ask = &f->asks.items[place];

	ask->next_of_side = s->asks;
	s->asks = place;
	if (ask->state)
		return;
	ask->next_of_thread = w->asks;
	w->asks = place;
}

static void send_request(struct finder *f, uint32_t thread, uint32_t side, const struct message *m)
{
	struct side *s = &f->sides.items[side];
	struct worker *w = worker_of(f, thread);
	bool owned = is_live(f, s->owner);

	/* a worker that has done one thing takes the next without being woken */
	if (!owned && w->queue_kind && !w->held_count && !is_live(f, w->current))
		set_current(f, thread, add_work(f, thread, 0, w->free_since), w->free_since);

	uint32_t state = owned ? s->owner : working_for(f, thread);
	bool tentative = state && !owned && w->doubt && w->held_count > 1;

	s->owner = 0;
	if (s->asked && s->state &&
	    (!state || w->asking_side == side || network_of(f, state) == network_of(f, s->state))) {
		state = s->state; /* the rest of it */
	} else if (s->asked && s->state != state) {
		s->ambiguous =
			true; /* the rest of it, or one of another over the same connection */
		state = 0;
	}
	if (!s->asked) {
		s->state = state;
		s->tentative = tentative;
		s->ambiguous = false;
		s->asks = 0;
		w->outstanding++;
		if (s->asker)
			worker_of(f, s->asker)->outstanding--;
		s->asker = thread;
	}
	s->asked = true;
	*map_insert(&f->sent, (uintptr_t)m) = f->asks.count;
	*vec_push(&f->asks) = (struct ask){
		.state = state,
		.thread = thread,
		.side = side,
		.next_recent = w->recent,
		.contested = w->held_count > 1,
		.tentative = tentative,
		.confidence = tentative ? 0.8f : 1,
	};
	w->acted = true;
	w->recent = f->asks.count - 1;
	w->asking_side = side;
	extend(f, state, m->time);
	if (!state || tentative)
		keep_ask(f, w, s, f->asks.count - 1);
}

static void message(struct finder *f, const struct occurrence *o)
{
	const struct message *m = o->what;
	const struct thread *thread = thread_of(f, o->thread);
	uint32_t side = side_of(f, thread->host, m->object);

	side_role(f, side, thread, m);

	bool serves = f->sides.items[side].role == ROLE_SERVER;

	if (serves || o->kind == OCCUR_RECEIVE)
		worker_of(f, o->thread)->asking_side = 0;
	if (o->kind == OCCUR_RECEIVE)
		(serves ? receive_request : receive_answer)(f, o->thread, side, m);
	else
		(serves ? send_answer : send_request)(f, o->thread, side, m);
}

static void connects(struct finder *f, const struct occurrence *o)
{
	const struct connect *c = o->what;
	uint32_t side = side_of(f, thread_of(f, o->thread)->host, c->object);

	if (f->sides.items[side].asker)
		worker_of(f, f->sides.items[side].asker)->outstanding--;
	f->sides.items[side] =
		(struct side){ .role = ROLE_CLIENT, .owner = working_for(f, o->thread) };
	worker_of(f, o->thread)->acted = true;
}

static bool is_poll(const struct cause *cause)
{
	return syscall_class_of(cause->syscall) == SYSCALL_POLL;
}

/* The words of a condition variable lie side by side. */
static bool is_same_queue(const struct worker *w, const struct cause *cause)
{
	if (w->queue_kind != cause->object_kind)
		return false;
	return cause->object_kind != OBJECT_FUTEX || (w->queue ^ cause->object) < 64;
}

/* A worker wakes the thread that received what it works for. */
static bool give_back(struct finder *f, const struct occurrence *o)
{
	const struct worker *by = worker_of(f, o->other), *to = worker_of(f, o->thread);
	uint32_t network = network_of(f, by->current);
	bool works = by->current && span_at(f, by->current)->kind == REQUEST_HANDOVER &&
		     !f->states.items[by->current].ended;

	if (!works || !to->held_count || (network && span_at(f, network)->thread.i != o->thread))
		return false;
	work_done(f, o->other, o->thread, o->time);
	return true;
}

/* Whether a worker that goes idle has done what its reader has answered just now. */
static bool claim(struct finder *f, uint32_t thread, nsec_t now)
{
	struct worker *w = worker_of(f, thread), *reader = worker_of(f, w->boss);
	uint32_t state = reader->unclaimed;

	if (!state || !may_be_for(f, w->current, state) ||
	    now > span_at(f, state)->end + ANSWER_SLACK)
		return false;
	reader->unclaimed = 0;
	swap_work(f, w->current, state);
	return true;
}

static void block(struct finder *f, const struct occurrence *o)
{
	const struct cause *cause = o->what;
	struct worker *w = worker_of(f, o->thread);

	if (cause->flags & INTERVAL_SIGNAL)
		*map_insert(&f->conditions, process_key(thread_of(f, o->thread))) = 1;
	/* before it waits, it has answered all that its workers gave back */
	w->done = 0;
	if (is_poll(cause) && w->held_count > 1) {
		set_current(f, o->thread, 0, o->time);
		w->fresh = w->doubt = false;
		w->unknown_side = w->asking_side = 0;
	}
	if (!w->current || span_at(f, w->current)->kind != REQUEST_HANDOVER ||
	    !is_same_queue(w, cause))
		return;

	/* it waits for more where it got this from, so it is done with this */
	uint32_t network = network_of(f, w->current);

	if ((!network || !f->states.items[network].answered) && !claim(f, o->thread, o->time)) {
		work_done(f, o->thread, w->boss, o->time);
		return;
	}
	f->states.items[w->current].ended = true;
	set_current(f, o->thread, 0, o->time);
}

/* Whether that is how a thread waits for work, and not for a lock. */
static bool waits_for_work(const struct finder *f, const struct occurrence *o)
{
	const struct cause *cause = o->what;

	if (cause->object_kind != OBJECT_FUTEX)
		return true;
	return cause->flags & INTERVAL_SIGNAL ||
	       !map_find(&f->conditions, process_key(thread_of(f, o->thread)));
}

static void wake(struct finder *f, const struct occurrence *o)
{
	const struct thread *waker = thread_of(f, o->other), *woken = thread_of(f, o->thread);
	const struct cause *cause = o->what;
	struct worker *w = worker_of(f, o->thread);
	uint32_t state = working_for(f, o->other);

	if (process_key(waker) != process_key(woken) || give_back(f, o) || !state ||
	    !waits_for_work(f, o))
		return;
	worker_of(f, o->other)->acted = true;

	bool busy = is_live(f, w->current) && span_at(f, w->current)->kind != REQUEST_FORK;

	if (busy || w->held_count)
		return;

	uint32_t work = add_work(f, o->thread, network_of(f, state) ?: state, o->time);

	w->boss = o->other;
	w->queue = cause->object;
	w->queue_kind = cause->object_kind ?: OBJECT_OTHER;
	set_current(f, o->thread, work, o->time);
	w->fresh = true;
	w->doubt = false;
}

static void fork_work(struct finder *f, const struct occurrence *o)
{
	uint32_t state = working_for(f, o->other);

	if (!state)
		return;
	worker_of(f, o->other)->acted = true;
	set_current(f, o->thread, add_state(f, REQUEST_FORK, o->thread, state, o->time), o->time);
}

static void handle(struct finder *f, const struct occurrence *o)
{
	switch (o->kind) {
	case OCCUR_RECEIVE:
	case OCCUR_SEND:
		message(f, o);
		break;
	case OCCUR_CONNECT:
		connects(f, o);
		break;
	case OCCUR_BLOCK:
		block(f, o);
		break;
	case OCCUR_WAKE:
		wake(f, o);
		break;
	case OCCUR_FORK:
		fork_work(f, o);
		break;
	}
}

static void end_work(struct finder *f)
{
	for (uint32_t i = 1; i < model_thread_count(f->model); i++) {
		nsec_t end = thread_of(f, i)->end;
		struct worker *w = worker_of(f, i);

		settle_rest(f, i);
		if (w->current)
			set_current(f, i, 0, end > w->since ? end : w->since);
	}
}

static void finder_done(struct finder *f)
{
	vec_done(&f->states);
	vec_done(&f->sides);
	vec_done(&f->asks);
	map_done(&f->side_index);
	map_done(&f->sent);
	map_done(&f->services);
	map_done(&f->conditions);
	free(f->workers);
}

void requests_find(const struct model *model, struct requests *ret)
{
	_cleanup_(finder_done) struct finder f = { .model = model, .out = ret };
	occurrences list;

	*ret = (struct requests){ 0 };
	f.workers = must_alloc(model_thread_count(model) * sizeof(*f.workers));
	/* places count from 1 */
	*vec_push(&ret->spans) = (struct request_span){ 0 };
	*vec_push(&f.states) = (struct work){ 0 };
	*vec_push(&f.sides) = (struct side){ 0 };
	*vec_push(&f.asks) = (struct ask){ 0 };
	occurrences_find(model, &list);
	for (size_t i = 0; i < list.count; i++)
		handle(&f, &list.items[i]);
	vec_done(&list);
	end_work(&f);
	requests_link(&f);
}

void requests_done(struct requests *requests)
{
	vec_done(&requests->spans);
	vec_done(&requests->slices);
	vec_done(&requests->roots);
}
