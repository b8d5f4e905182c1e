/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/requests/requests.h"

#include "analyse/requests/internal.h"
#include "event/thread_state.h"

/* When the bytes that a thread received came to it: it may have waited for them in its call. */
static nsec_t came_at(const struct finder *f, uint32_t thread, const struct message *m)
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
static nsec_t gone_at(const struct finder *f, uint32_t thread, const struct message *m)
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
	uint32_t state = add_state(f, REQUEST_NETWORK, thread, 0, came_at(f, thread, m));

	span_at(f, state)->socket = m->object;
	work_at(f, state)->came = m;
	f->sides.items[side].whom.state = state;
	hold(f, thread, state);
	worker_of(f, thread)->reads = true;
	*map_insert(&f->services, process_key(thread_of(f, thread))) = 1;
	return state;
}

/* A thread turns to something new: an answer on that side, or anything else. */
static void turn_to(struct worker *w, uint32_t side)
{
	w->guess = w->burst = w->suspect = 0;
	w->heard_side = side;
}

/* A thread acts, for a guess maybe. */
static void act(struct finder *f, struct worker *w, uint32_t guess)
{
	f->guesses.items[w->suspect].broken |= w->suspect > 0;
	f->sides.items[w->heard_side].caused = w->heard_side ? guess : 0;
	w->suspect = w->heard_side = 0;
	w->acted = true;
}

static void receive_request(struct finder *f, uint32_t thread, uint32_t side,
			    const struct message *m)
{
	struct worker *w = worker_of(f, thread);
	uint32_t state = f->sides.items[side].whom.state;

	if (!state || work_at(f, state)->answered)
		state = add_request(f, thread, side, m);
	f->sides.items[side].came = m;
	extend(f, state, m->time);

	nsec_t start = span_at(f, state)->start;

	set_current(f, thread, state, start > w->free_since ? start : m->time);
	turn_to(w, 0);
	batch_read(w, (struct whom){ .state = state });
	w->fresh = true;
	w->heard = false;
}

/* A question is not outstanding any more. */
static void close_question(struct finder *f, struct side *s)
{
	if (s->asker)
		worker_of(f, s->asker)->outstanding--;
	f->guesses.items[s->whom.guess].outstanding -= s->asked;
	count_question(f, s->counted, -1);
	s->asker = s->counted = 0;
	s->asked = false;
}

/* More of an answer: what was done when the first of it came was not for whom it is. */
static void hear_more(struct finder *f, struct side *s)
{
	struct guess *g = &f->guesses.items[s->caused];

	g->like = g->likely = 0;
	s->caused = 0;
}

/* It is not known yet to whom the answer is. */
static void hear_guess(struct finder *f, uint32_t thread, const struct side *s, nsec_t now)
{
	struct worker *w = worker_of(f, thread);
	bool more = f->guesses.items[s->whom.guess].outstanding && w->held_count;

	if (!s->ambiguous)
		*(more ? &w->suspect : &w->guess) = s->whom.guess;
	if (w->guess)
		batch_read(w, (struct whom){ .guess = w->guess });
	if (w->held_count)
		set_current(f, thread, 0, now);
}

static void receive_answer(struct finder *f, uint32_t thread, uint32_t side,
			   const struct message *m)
{
	struct side *s = &f->sides.items[side];
	struct worker *w = worker_of(f, thread);
	uint32_t state = s->whom.state ?: guess_state(f, s->whom.guess);

	if (!s->asked)
		hear_more(f, s);
	close_question(f, s);
	pool_hear(f, thread, m->time);
	turn_to(w, side);
	if (s->ambiguous || !state) {
		hear_guess(f, thread, s, m->time);
		return;
	}
	if (!is_live(f, state))
		return;
	extend(f, state, m->time);
	/* the state's own thread goes on, or another one that reads answers for it */
	if (span_at(f, state)->thread.i == thread || network_of(f, state) == state)
		set_current(f, thread, state, m->time);
	if (!work_at(f, network_of(f, state))->outstanding)
		batch_read(w, (struct whom){ .state = network_of(f, state) });
	w->fresh = w->heard = true;
}

/*
 * Another answer, though nothing was read: the client sent several requests at
 * once, and they are handled one after the other.  What has no sub-requests
 * cannot be told from one long answer.
 */
static bool is_next_in_line(struct finder *f, uint32_t thread, uint32_t state)
{
	const struct worker *w = worker_of(f, thread);
	const struct work *work = work_at(f, state);

	return work->answered && (w->guess || (is_handoff(f, w->current) &&
					       work_at(f, w->current)->first > work->answer));
}

static void send_answer(struct finder *f, uint32_t thread, uint32_t side, const struct message *m)
{
	struct worker *w = worker_of(f, thread);
	uint32_t state = f->sides.items[side].whom.state;

	if (!state)
		return; /* a server that speaks first */
	if (is_next_in_line(f, thread, state))
		state = add_request(f, span_at(f, state)->thread.i, side,
				    f->sides.items[side].came);

	struct work *work = work_at(f, state);
	bool reader = span_at(f, state)->thread.i == thread;

	if (!work->answered) {
		if (!reader && w->reads) /* no pool: any thread reads, and any answers */
			*map_insert(&f->movers, process_key(thread_of(f, thread))) = 1;
		if (!reader && w->current != state && span_at(f, w->current)->kind != REQUEST_FORK)
			pool_answer(f, thread, state);
		settle(f, reader ? batch_answer(f, w, state) : w->guess,
		       w->current && !reader ? w->current : state);
		let_go(f, state);
		work = work_at(f, state);
		work->answered = true;
		work->answer = m->time;
		work->by_reader = reader;
	} else if (!w->current && network_of(f, w->last) == state) {
		set_current(f, thread, w->last, w->free_since); /* a long answer: it was at it */
	}
	extend(f, state, gone_at(f, thread, m));
	extend(f, w->current, m->time);
	set_current(f, thread, 0, m->time);
	w->popped = m->time;
	act(f, w, 0);
	turn_to(w, 0);
}

/* For whom a send on a side is that was not answered yet: the rest of it, or something else. */
static struct whom whom_of_rest(struct finder *f, struct side *s, struct whom whom, bool at_once)
{
	bool same = whom.state ? network_of(f, whom.state) == network_of(f, s->whom.state)
			       : whom.guess == s->whom.guess;

	if (same || at_once || !whom.state)
		return s->whom;
	s->ambiguous = true; /* the rest of it, or another's over the same connection */
	return (struct whom){ 0 };
}

static void open_question(struct finder *f, uint32_t thread, struct side *s, struct whom whom)
{
	close_question(f, s);
	s->whom = whom;
	s->caused = 0;
	f->guesses.items[whom.guess].outstanding++;
	s->ambiguous = false;
	s->asked = true;
	s->asker = thread;
	s->counted = network_of(f, whom.state);
	worker_of(f, thread)->outstanding++;
	count_question(f, s->counted, 1);
}

static void send_request(struct finder *f, uint32_t thread, uint32_t side, const struct message *m)
{
	struct side *s = &f->sides.items[side];
	struct worker *w = worker_of(f, thread);
	bool owned = s->owner.guess || is_live(f, s->owner.state);

	if (!s->asked)
		pool_ask(f, thread, side, m->object, m->time);

	struct whom whom =
		owned ? s->owner : acting_for(f, thread, side_target(f, thread, m->object));

	s->owner = (struct whom){ 0 };
	if (!s->asked && !owned)
		batch_ask(w, whom);
	if (s->asked)
		whom = whom_of_rest(f, s, whom, w->asking_side == side);
	else
		open_question(f, thread, s, whom);
	*map_insert(&f->sent, (uintptr_t)m) = f->asks.count;
	*vec_push(&f->asks) = whom;
	act(f, w, whom.guess);
	w->guess = w->held_count ? 0 : whom.guess;
	w->asking_side = side;
	extend(f, whom.state, m->time);
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

	close_question(f, &f->sides.items[side]);
	f->sides.items[side] = (struct side){ .role = ROLE_CLIENT };
	pool_ask(f, o->thread, side, c->object, o->time);

	struct side *s = &f->sides.items[side];
	struct worker *w = worker_of(f, o->thread);

	s->owner = acting_for(f, o->thread, side_target(f, o->thread, c->object));
	batch_ask(w, s->owner);
	s->made_in = s->owner.state;
	s->counted = network_of(f, s->owner.state); /* it waits for that */
	count_question(f, s->counted, 1);
	act(f, w, s->owner.guess);
	w->guess = w->held_count ? 0 : s->owner.guess;
}

static void block(struct finder *f, const struct occurrence *o)
{
	const struct cause *cause = o->what;
	struct worker *w = worker_of(f, o->thread);

	pool_block(f, o);
	if (syscall_class_of(cause->syscall) != SYSCALL_POLL || !w->held_count)
		return;
	turn_to(w, 0);
	batch_wait(w);
	w->asking_side = 0;
	w->acted = false;
	if (w->held_count > 1)
		set_current(f, o->thread, 0, o->time);
	w->fresh = w->held_count <= 1;
}

static void fork_work(struct finder *f, const struct occurrence *o)
{
	pool_begin(f, o->other);

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
			set_current(f, i, 0, end > w->since ? end : w->since);
	}
}

static void finder_done(struct finder *f)
{
	vec_done(&f->states);
	vec_done(&f->sides);
	vec_done(&f->guesses);
	vec_done(&f->asks);
	map_done(&f->side_index);
	map_done(&f->sent);
	map_done(&f->services);
	map_done(&f->conditions);
	map_done(&f->turnstiles);
	map_done(&f->movers);
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
	*vec_push(&f.guesses) = (struct guess){ 0 };
	*vec_push(&f.asks) = (struct whom){ 0 };
	occurrences_find(model, &list);
	for (size_t i = 0; i < list.count; i++)
		handle(&f, &list.items[i]);
	vec_done(&list);
	stop_all(&f);
	match_work(&f);
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
