/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/requests/requests.h"

#include "analyse/requests/internal.h"
#include "event/thread_state.h"

/* When the bytes that a thread received came to it: it may have waited for them in its call. */
static nsec_t arrived_at(const struct finder *f, uint32_t thread, const struct message *m)
{
	const struct thread *t = thread_of(f, thread);
	const struct timeline *calls = t->timelines[TIMELINE_SYSCALLS];
	nsec_t from = 0;
	struct stretch s;
	timeline_pos pos;

	if (timeline_from(calls, m->time, &pos)) {
		const struct syscall *call = timeline_at(calls, pos);

		from = call->start <= m->time ? call->start : 0;
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
static nsec_t sent_at(const struct finder *f, uint32_t thread, const struct message *m)
{
	const struct timeline *calls = thread_of(f, thread)->timelines[TIMELINE_SYSCALLS];
	timeline_pos pos;
	const struct syscall *call =
		timeline_from(calls, m->time, &pos) ? timeline_at(calls, pos) : NULL;

	return call && call->start <= m->time ? call->end : m->time;
}

static uint32_t add_request(struct finder *f, uint32_t thread, uint32_t side,
			    const struct message *m)
{
	uint32_t state = state_add(f, REQUEST_NETWORK, thread, 0, arrived_at(f, thread, m));

	span_at(f, state)->socket = m->object;
	state_at(f, state)->received = m;
	f->sides.items[side].owner.state = state;
	worker_hold(f, thread, state);
	worker_of(f, thread)->reads = true;
	*map_insert(&f->services, process_key(thread_of(f, thread))) = 1;
	return state;
}

/* A thread turns to something new: an answer on that side, or anything else. */
static void forget_context(struct worker *w, uint32_t side)
{
	w->hypothesis = w->burst_hypothesis = w->partial = 0;
	w->read_side = side;
}

/* A thread acts, for a guess maybe. */
static void act(struct finder *f, struct worker *w, uint32_t hypothesis)
{
	f->hypotheses.items[w->partial].broken |= w->partial > 0;
	f->sides.items[w->read_side].acted_for = w->read_side ? hypothesis : 0;
	w->partial = w->read_side = 0;
	w->acted = true;
}

static void receive_request(struct finder *f, uint32_t thread, uint32_t side,
			    const struct message *m)
{
	struct worker *w = worker_of(f, thread);
	uint32_t state = f->sides.items[side].owner.state;

	if (!state || state_at(f, state)->replied)
		state = add_request(f, thread, side, m);
	f->sides.items[side].received = m;
	state_extend(f, state, m->time);

	nsec_t start = span_at(f, state)->start;

	worker_set_current(f, thread, state, start > w->free_since ? start : m->time);
	forget_context(w, 0);
	batch_read(w, (struct owner){ .state = state });
	w->attributed = true;
	w->from_reply = false;
}

/* A question is not outstanding any more. */
static void end_call(struct finder *f, struct side *s)
{
	if (s->caller)
		worker_of(f, s->caller)->pending_calls--;
	f->hypotheses.items[s->owner.hypothesis].pending_calls -= s->awaits_reply;
	state_count_pending(f, s->pending_for, -1);
	s->caller = s->pending_for = 0;
	s->awaits_reply = false;
}

/* More of an answer: what was done when the first of it came was not for whom it is. */
static void receive_more_of_reply(struct finder *f, struct side *s)
{
	struct hypothesis *g = &f->hypotheses.items[s->acted_for];

	g->same_as = g->candidate = 0;
	s->acted_for = 0;
}

/* It is not known yet to whom the answer is. */
static void receive_unattributed(struct finder *f, uint32_t thread, const struct side *s,
				 nsec_t now)
{
	struct worker *w = worker_of(f, thread);
	bool more = f->hypotheses.items[s->owner.hypothesis].pending_calls && w->held_count;

	if (!s->ambiguous)
		*(more ? &w->partial : &w->hypothesis) = s->owner.hypothesis;
	if (w->hypothesis)
		batch_read(w, (struct owner){ .hypothesis = w->hypothesis });
	if (w->held_count)
		worker_set_current(f, thread, 0, now);
}

static void receive_reply(struct finder *f, uint32_t thread, uint32_t side, const struct message *m)
{
	struct side *s = &f->sides.items[side];
	struct worker *w = worker_of(f, thread);
	uint32_t state = s->owner.state ?: hypothesis_state(f, s->owner.hypothesis);

	if (!s->awaits_reply)
		receive_more_of_reply(f, s);
	end_call(f, s);
	pool_receive(f, thread, m->time);
	forget_context(w, side);
	if (s->ambiguous || !state) {
		receive_unattributed(f, thread, s, m->time);
		return;
	}
	if (!state_is_live(f, state))
		return;
	state_extend(f, state, m->time);
	/* the state's own thread goes on, or another one that reads answers for it */
	if (span_at(f, state)->thread.i == thread || state_request(f, state) == state)
		worker_set_current(f, thread, state, m->time);
	if (!state_at(f, state_request(f, state))->pending_calls)
		batch_read(w, (struct owner){ .state = state_request(f, state) });
	w->attributed = w->from_reply = true;
}

/*
 * Another answer, though nothing was read: the client sent several requests at
 * once, and they are handled one after the other.  What has no sub-requests
 * cannot be told from one long answer.
 */
static bool is_next_in_line(struct finder *f, uint32_t thread, uint32_t state)
{
	const struct worker *w = worker_of(f, thread);
	const struct work_state *work = state_at(f, state);

	return work->replied &&
	       (w->hypothesis || (state_is_handoff(f, w->current) &&
				  state_at(f, w->current)->first_call > work->replied_at));
}

static void send_reply(struct finder *f, uint32_t thread, uint32_t side, const struct message *m)
{
	struct worker *w = worker_of(f, thread);
	uint32_t state = f->sides.items[side].owner.state;

	if (!state)
		return; /* a server that speaks first */
	if (is_next_in_line(f, thread, state))
		state = add_request(f, span_at(f, state)->thread.i, side,
				    f->sides.items[side].received);

	struct work_state *work = state_at(f, state);
	bool reader = span_at(f, state)->thread.i == thread;

	if (!work->replied) {
		if (!reader && w->reads) /* no pool: any thread reads, and any answers */
			*map_insert(&f->work_stealing, process_key(thread_of(f, thread))) = 1;
		if (!reader && w->current != state && span_at(f, w->current)->kind != REQUEST_FORK)
			pool_reply(f, thread, state);
		hypothesis_settle(f, reader ? batch_reply(f, w, state) : w->hypothesis,
				  w->current && !reader ? w->current : state);
		worker_release(f, state);
		work = state_at(f, state);
		work->replied = true;
		work->replied_at = m->time;
		work->reader_replied = reader;
	} else if (!w->current && state_request(f, w->last) == state) {
		worker_set_current(f, thread, w->last,
				   w->free_since); /* a long answer: it was at it */
	}
	state_extend(f, state, sent_at(f, thread, m));
	state_extend(f, w->current, m->time);
	worker_set_current(f, thread, 0, m->time);
	w->taken = m->time;
	act(f, w, 0);
	forget_context(w, 0);
}

/* For whom a send on a side is that was not answered yet: the rest of it, or something else. */
static struct owner whom_of_rest(struct finder *f, struct side *s, struct owner owner, bool at_once)
{
	bool same = owner.state ? state_request(f, owner.state) == state_request(f, s->owner.state)
				: owner.hypothesis == s->owner.hypothesis;

	if (same || at_once || !owner.state)
		return s->owner;
	s->ambiguous = true; /* the rest of it, or another's over the same connection */
	return (struct owner){ 0 };
}

static void begin_call(struct finder *f, uint32_t thread, struct side *s, struct owner owner)
{
	end_call(f, s);
	s->owner = owner;
	s->acted_for = 0;
	f->hypotheses.items[owner.hypothesis].pending_calls++;
	s->ambiguous = false;
	s->awaits_reply = true;
	s->caller = thread;
	s->pending_for = state_request(f, owner.state);
	worker_of(f, thread)->pending_calls++;
	state_count_pending(f, s->pending_for, 1);
}

static void send_request(struct finder *f, uint32_t thread, uint32_t side, const struct message *m)
{
	struct side *s = &f->sides.items[side];
	struct worker *w = worker_of(f, thread);
	bool owned = s->connect_owner.hypothesis || state_is_live(f, s->connect_owner.state);

	if (!s->awaits_reply)
		pool_call(f, thread, side, m->object, m->time);

	struct owner owner = owned ? s->connect_owner
				   : owner_of_send(f, thread, side_target(f, thread, m->object));

	s->connect_owner = (struct owner){ 0 };
	if (!s->awaits_reply && !owned)
		batch_call(w, owner);
	if (s->awaits_reply)
		owner = whom_of_rest(f, s, owner, w->calling_side == side);
	else
		begin_call(f, thread, s, owner);
	*map_insert(&f->sent, (uintptr_t)m) = f->calls.count;
	*vec_push(&f->calls) = owner;
	act(f, w, owner.hypothesis);
	w->hypothesis = w->held_count ? 0 : owner.hypothesis;
	w->calling_side = side;
	state_extend(f, owner.state, m->time);
}

static void message(struct finder *f, const struct occurrence *o)
{
	const struct message *m = o->what;
	const struct thread *thread = thread_of(f, o->thread);
	uint32_t side = side_of(f, thread->host, m->object);

	side_find_role(f, side, thread, m);

	bool serves = f->sides.items[side].role == ROLE_SERVER;

	if (serves || o->kind == OCCUR_RECEIVE)
		worker_of(f, o->thread)->calling_side = 0;
	if (o->kind == OCCUR_RECEIVE)
		(serves ? receive_request : receive_reply)(f, o->thread, side, m);
	else
		(serves ? send_reply : send_request)(f, o->thread, side, m);
}

static void connect_side(struct finder *f, const struct occurrence *o)
{
	const struct connect *c = o->what;
	uint32_t side = side_of(f, thread_of(f, o->thread)->host, c->object);

	end_call(f, &f->sides.items[side]);
	f->sides.items[side] = (struct side){ .role = ROLE_CLIENT };
	pool_call(f, o->thread, side, c->object, o->time);

	struct side *s = &f->sides.items[side];
	struct worker *w = worker_of(f, o->thread);

	s->connect_owner = owner_of_send(f, o->thread, side_target(f, o->thread, c->object));
	batch_call(w, s->connect_owner);
	s->connect_state = s->connect_owner.state;
	s->pending_for = state_request(f, s->connect_owner.state); /* it waits for that */
	state_count_pending(f, s->pending_for, 1);
	act(f, w, s->connect_owner.hypothesis);
	w->hypothesis = w->held_count ? 0 : s->connect_owner.hypothesis;
}

static void block(struct finder *f, const struct occurrence *o)
{
	const struct cause *cause = o->what;
	struct worker *w = worker_of(f, o->thread);

	pool_block(f, o);
	if (syscall_class_of(cause->syscall) != SYSCALL_POLL || !w->held_count)
		return;
	forget_context(w, 0);
	batch_wait(w);
	w->calling_side = 0;
	w->acted = false;
	if (w->held_count > 1)
		worker_set_current(f, o->thread, 0, o->time);
	w->attributed = w->held_count <= 1;
}

static void fork_work(struct finder *f, const struct occurrence *o)
{
	pool_begin(f, o->other);

	uint32_t state = certain_state(f, o->other);

	if (!state)
		return;
	worker_of(f, o->other)->acted = true;
	worker_set_current(f, o->thread, state_add(f, REQUEST_FORK, o->thread, state, o->time),
			   o->time);
}

static void handle(struct finder *f, const struct occurrence *o)
{
	switch (o->kind) {
	case OCCUR_RECEIVE:
	case OCCUR_SEND:
		message(f, o);
		break;
	case OCCUR_CONNECT:
		connect_side(f, o);
		break;
	case OCCUR_BLOCK:
		block(f, o);
		break;
	case OCCUR_WAKE:
		pool_wake(f, o);
		break;
	case OCCUR_FORK:
		fork_work(f, o);
		break;
	}
}

static void stop_all(struct finder *f)
{
	for (uint32_t i = 1; i < model_thread_count(f->model); i++) {
		nsec_t end = thread_of(f, i)->end;
		struct worker *w = worker_of(f, i);

		if (w->current)
			worker_set_current(f, i, 0, end > w->since ? end : w->since);
	}
}

static void finder_done(struct finder *f)
{
	vec_done(&f->states);
	vec_done(&f->sides);
	vec_done(&f->hypotheses);
	vec_done(&f->calls);
	map_done(&f->side_index);
	map_done(&f->sent);
	map_done(&f->services);
	map_done(&f->conditions);
	map_done(&f->shared_locks);
	map_done(&f->work_stealing);
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
	*vec_push(&f.states) = (struct work_state){ 0 };
	*vec_push(&f.sides) = (struct side){ 0 };
	*vec_push(&f.hypotheses) = (struct hypothesis){ 0 };
	*vec_push(&f.calls) = (struct owner){ 0 };
	occurrences_find(model, &list);
	for (size_t i = 0; i < list.count; i++)
		handle(&f, &list.items[i]);
	vec_done(&list);
	stop_all(&f);
	match_handoffs(&f);
	requests_link(&f);
}

void requests_done(struct requests *requests)
{
	vec_done(&requests->spans);
	vec_done(&requests->work);
	vec_done(&requests->roots);
}

uint32_t requests_next(const struct requests *requests, uint32_t root, uint32_t at,
		       unsigned int *depth)
{
	const struct request_span *spans = requests->spans.items;
	unsigned int none = 0;

	depth = depth ? depth : &none;
	if (spans[at].first_child) {
		++*depth;
		return spans[at].first_child;
	}
	for (; at != root && !spans[at].next; at = spans[at].parent)
		--*depth;
	return at == root ? 0 : spans[at].next;
}
