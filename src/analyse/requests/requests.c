/* SPDX-License-Identifier: Apache-2.0 */
/* requests - what each event shows of the requests that threads work for. */
#include "analyse/requests/internal.h"
#include "event/thread_state.h"

/* When a thread began to read a message: it can have waited for it in its system call. */
static nsec_t read_at(const struct finder *f, uint32_t thread, const struct message *m)
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
	/* after the last wait in the system call */
	if (model_stretch_before(f->model, (thread_id){ thread }, m->time, &s) &&
	    s.interval.start > from)
		from = s.interval.start;
	return m->other_time > from && m->other_time <= m->time ? m->other_time : from;
}

/* When the system call that sent a message returned. */
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
	uint32_t state = state_add(f, REQUEST_NETWORK, thread, 0, read_at(f, thread, m));
	uint32_t before = f->sides.items[side].owner.state;

	if (before)
		state_at(f, before)->next_arrival =
			request_arrival(f->model, thread_of(f, thread)->host, m) ?: m->time;
	span_at(f, state)->socket = m->object;
	state_at(f, state)->received = m;
	f->sides.items[side].owner.state = state;
	worker_hold(f, thread, state);
	worker_of(f, thread)->reads = true;
	*map_insert(&f->services, process_key(thread_of(f, thread))) = 1;
	return state;
}

/* A thread starts something new: a reply that it read on a side, or, with side 0, anything else. */
static void start_anew(struct worker *w, uint32_t side)
{
	w->hypothesis = w->burst_hypothesis = w->partial = 0;
	w->read_side = side;
}

/* A thread acts, for a hypothesis or, with 0, for a known state. */
static void act(struct finder *f, struct worker *w, uint32_t hypothesis)
{
	/* it acts before the other replies of a hypothesis came, so these calls were not of one
	 * owner */
	if (w->partial)
		f->hypotheses.items[w->partial].broken = true;
	if (w->read_side)
		f->sides.items[w->read_side].acted_for = hypothesis;
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
	start_anew(w, 0);
	batch_read(w, (struct owner){ .state = state });
	w->attributed = true;
	w->from_reply = false;
}

void side_end_call(struct finder *f, struct side *s)
{
	if (s->caller)
		worker_of(f, s->caller)->pending_calls--;
	if (s->awaits_reply)
		f->hypotheses.items[s->owner.hypothesis].pending_calls--;
	state_count_pending(f, s->pending_for, -1);
	s->caller = s->pending_for = 0;
	s->awaits_reply = false;
}

/* More of a reply was read: what the thread did after the first part was for another owner. */
static void receive_more_of_reply(struct finder *f, struct side *s)
{
	struct hypothesis *h = &f->hypotheses.items[s->acted_for];

	h->same_as = h->candidate = 0;
	s->acted_for = 0;
}

/* The owner of the reply is unknown. */
static void receive_unattributed(struct finder *f, uint32_t thread, const struct side *s,
				 nsec_t now)
{
	struct worker *w = worker_of(f, thread);
	bool more_pending = f->hypotheses.items[s->owner.hypothesis].pending_calls > 0;

	if (!s->ambiguous && more_pending && w->held_count)
		w->partial = s->owner.hypothesis;
	else if (!s->ambiguous)
		w->hypothesis = s->owner.hypothesis;
	if (w->hypothesis)
		batch_read(w, (struct owner){ .hypothesis = w->hypothesis });
	if (w->held_count)
		worker_set_doubtful(f, thread, s->ambiguous ? 0 : s->owner.hypothesis, now);
}

static void receive_reply(struct finder *f, uint32_t thread, uint32_t side, const struct message *m)
{
	struct side *s = &f->sides.items[side];
	struct worker *w = worker_of(f, thread);
	uint32_t state = s->owner.state ?: hypothesis_state(f, s->owner.hypothesis);

	if (!s->awaits_reply)
		receive_more_of_reply(f, s);
	if (!s->ambiguous)
		*vec_push(&f->replies) = (struct owned_reply){ s->owner, { thread }, m };
	client_call_reply(f, side, m);
	side_end_call(f, s);
	pool_receive(f, thread, m->time);
	start_anew(w, side);
	if (s->ambiguous || !state) {
		receive_unattributed(f, thread, s, m->time);
		return;
	}
	if (!state_is_live(f, state))
		return;
	state_extend(f, state, m->time);
	/* the state's own thread goes on, or another thread that reads replies for it */
	if (span_at(f, state)->thread.i == thread || state_request(f, state) == state)
		worker_set_current(f, thread, state, m->time);
	if (!state_at(f, state_request(f, state))->pending_calls)
		batch_read(w, (struct owner){ .state = state_request(f, state) });
	w->attributed = w->from_reply = true;
}

/*
 * Whether a second reply without a read between is for the next of several requests that the client
 * sent at once.  A request without sub-requests looks like a part of one long reply.
 */
static bool is_pipelined(struct finder *f, uint32_t thread, uint32_t state)
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
		return; /* a server that sends first, such as a greeting */
	if (is_pipelined(f, thread, state) && f->sides.items[side].received)
		state = add_request(f, span_at(f, state)->thread.i, side,
				    f->sides.items[side].received);

	struct work_state *work = state_at(f, state);
	bool reader = span_at(f, state)->thread.i == thread;

	worker_acts_for(f, thread, (struct owner){ .state = state }, m->time);
	if (!work->replied) {
		if (!reader && w->reads) /* any thread receives, and any replies */
			*map_insert(&f->work_stealing, process_key(thread_of(f, thread))) = m->time;
		if (!reader && w->current != state && span_at(f, w->current)->kind != REQUEST_FORK)
			pool_reply(f, thread, state);
		if (reader)
			pool_reader_reply(f, thread, state);
		hypothesis_settle(f, reader ? batch_reply(f, w, state) : w->hypothesis,
				  w->current && !reader ? w->current : state);
		worker_release(f, state);
		work = state_at(f, state);
		work->replied = true;
		work->replied_at = m->time;
		work->reader_replied = reader;
	} else if (!w->current && state_request(f, w->last) == state) {
		/* a long reply: it has worked on it since its last part */
		worker_set_current(f, thread, w->last, w->free_since);
	}
	reply_left(f, state);
	work->last_reply = m;
	work->last_replier = thread;
	state_extend(f, state, sent_at(f, thread, m));
	state_extend(f, w->current, m->time);
	worker_set_current(f, thread, 0, m->time);
	w->taken = m->time;
	act(f, w, 0);
	start_anew(w, 0);
}

/* The owner of a send on a side with a pending call: the rest of that call, or another call. */
static struct owner owner_of_rest(struct finder *f, struct side *s, struct owner owner,
				  bool at_once)
{
	bool same = owner.state ? state_request(f, owner.state) == state_request(f, s->owner.state)
				: owner.hypothesis == s->owner.hypothesis;

	if (same || at_once || !owner.state)
		return s->owner;
	s->ambiguous = true; /* the rest, or a call of another owner over the same connection */
	return (struct owner){ 0 };
}

static void begin_call(struct finder *f, uint32_t thread, struct side *s, struct owner owner)
{
	side_end_call(f, s);
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
	bool is_first = s->connect_owner.hypothesis || state_is_live(f, s->connect_owner.state);

	if (!s->awaits_reply)
		pool_call(f, thread, side, m->object, m->time);

	struct owner owner = is_first ? s->connect_owner
				      : owner_of_send(f, thread, side_target(f, thread, m->object));

	s->connect_owner = (struct owner){ 0 };
	worker_acts_for(f, thread, owner, m->time);
	if (!s->awaits_reply && !is_first)
		batch_call(w, owner);
	if (s->awaits_reply) {
		owner = owner_of_rest(f, s, owner, w->calling_side == side);
	} else {
		begin_call(f, thread, s, owner);
		s->call_time = m->time;
		client_call_begin(f, thread, side, m);
	}
	*map_insert(&f->sent, (uintptr_t)m) = f->calls.count;
	*vec_push(&f->calls) = (struct sent_call){ owner, m };
	act(f, w, owner.hypothesis);
	w->hypothesis = w->held_count ? 0 : owner.hypothesis;
	w->calling_side = side;
	state_extend(f, owner.state, m->time);
}

static void handle_message(struct finder *f, const struct occurrence *o)
{
	const struct message *m = o->what;
	const struct thread *thread = thread_of(f, o->thread);
	uint32_t side = side_of(f, thread->host, m->object);

	side_find_role(f, side, thread, m);
	f->sides.items[side].last_use = m->time;

	bool serves = f->sides.items[side].role == ROLE_SERVER;

	if (m->other.i)
		f->sides.items[side].is_peer_recorded = true;
	if (o->kind == OCCUR_SEND)
		worker_of(f, o->thread)->polled = 0; /* it resumed its work after the poll */
	if (serves || o->kind == OCCUR_RECEIVE)
		worker_of(f, o->thread)->calling_side = 0;
	if (o->kind == OCCUR_RECEIVE)
		(serves ? receive_request : receive_reply)(f, o->thread, side, m);
	else
		(serves ? send_reply : send_request)(f, o->thread, side, m);
	worker_of(f, o->thread)->last_event = m->time;
	worker_of(f, o->thread)->polled = 0;
}

static void handle_connect(struct finder *f, const struct occurrence *o)
{
	const struct connect *c = o->what;
	uint32_t side = side_of(f, thread_of(f, o->thread)->host, c->object);

	side_end_call(f, &f->sides.items[side]);
	f->sides.items[side] = (struct side){ .role = ROLE_CLIENT,
					      .connect_time = o->time,
					      .last_use = o->time,
					      .key = f->sides.items[side].key };
	pool_call(f, o->thread, side, c->object, o->time);

	struct side *s = &f->sides.items[side];
	struct worker *w = worker_of(f, o->thread);

	s->connect_owner = owner_of_send(f, o->thread, side_target(f, o->thread, c->object));
	batch_call(w, s->connect_owner);
	s->connect_state = s->connect_owner.state;
	s->pending_for = state_request(f, s->connect_owner.state); /* it waits for the connection */
	state_count_pending(f, s->pending_for, 1);
	act(f, w, s->connect_owner.hypothesis);
	w->hypothesis = w->held_count ? 0 : s->connect_owner.hypothesis;
}

static void handle_block(struct finder *f, const struct occurrence *o)
{
	const struct cause *cause = o->what;
	struct worker *w = worker_of(f, o->thread);

	pool_block(f, o);
	if (syscall_class_of(cause->syscall) != SYSCALL_POLL || !w->held_count)
		return;
	start_anew(w, 0);
	batch_wait(w);
	w->calling_side = 0;
	w->acted = false;
	w->result = 0;
	w->last_event = o->ran;
	if (!w->polled)
		w->polled = o->time;
	if (w->held_count > 1 || w->doubtful)
		worker_set_current(f, o->thread, 0, o->time);
	w->attributed = w->held_count <= 1;
}

static void handle_fork(struct finder *f, const struct occurrence *o)
{
	pool_begin(f, o->other);

	uint32_t state = certain_state(f, o->other);

	if (!state)
		return;
	worker_of(f, o->other)->acted = true;
	worker_set_current(f, o->thread, state_add(f, REQUEST_FORK, o->thread, state, o->time),
			   o->time);
}

void finder_handle(struct finder *f, const struct occurrence *o)
{
	switch (o->kind) {
	case OCCUR_RECEIVE:
	case OCCUR_SEND:
		handle_message(f, o);
		break;
	case OCCUR_CONNECT:
		handle_connect(f, o);
		break;
	case OCCUR_BLOCK:
		handle_block(f, o);
		break;
	case OCCUR_WAKE:
		pool_wake(f, o);
		break;
	case OCCUR_FORK:
		handle_fork(f, o);
		break;
	}
}
