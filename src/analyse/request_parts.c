/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/request_parts.h"

#include <string.h>

#include "analyse/path.h"
#include "analyse/queueing.h"
#include "event/thread_state.h"

struct request_pause {
	const struct span_set *spans;
	const struct span_slices *slices;
	span_id span;
	span_id next;          /* of the next section of the path */
	thread_id pool_thread; /* works for the request after the section; or none */
	nsec_t to;
	bool tasks_move; /* threads that wait are idle: what the request waits for is unknown */
	struct span_work *ret;
};

/* A call to a peer that was not recorded. */
static bool is_call(const struct span *span)
{
	return span->source == SPAN_INFERRED && span->kind == SPAN_CLIENT;
}

bool request_parts_apply(const struct span_set *spans, span_id span)
{
	const struct span *s = span_set_at(spans, span);

	return is_call(s) || span_slice_of_span(&spans->slices, span, 0);
}

static nsec_t least(nsec_t a, nsec_t b)
{
	return a < b ? a : b;
}

static void add(struct request_pause *p, struct span_part part)
{
	part.end = least(part.end, p->to);
	if (part.start < part.end)
		*vec_push(&p->ret->items) = part;
}

static void add_parked(struct request_pause *p, thread_id thread, nsec_t from, nsec_t to)
{
	add(p, (struct span_part){ .start = from,
				   .end = to,
				   .thread = thread,
				   .flags = STEP_PARKED,
				   .state = STATE_UNKNOWN });
}

static bool is_idle(const struct model *model, thread_id thread, const struct stretch *s)
{
	const struct cause *cause = state_is_blocked(s->interval.state)
					    ? model_cause(model, thread, &s->interval)
					    : NULL;
	enum syscall_class class = cause ? syscall_class_of(cause->syscall) : SYSCALL_OTHER;

	return class == SYSCALL_POLL || class == SYSCALL_LOCK;
}

/* Whether a thread that took the request in the end was busy with others before. */
static bool is_busy(const struct request_pause *p, thread_id thread, nsec_t from, nsec_t to)
{
	nsec_t idle = 0;
	struct stretch s;
	bool more = model_stretch_at(p->spans->model, thread, from, &s);

	for (; more && s.interval.start < to;
	     more = model_stretch_next(p->spans->model, thread, &s)) {
		nsec_t start = s.interval.start > from ? s.interval.start : from;

		if (is_idle(p->spans->model, thread, &s))
			idle += least(s.end, to) - start;
	}
	return from < to && idle < (to - from) / 4;
}

static bool is_other_request(const struct request_pause *p, span_id span)
{
	return memcmp(span_set_at(p->spans, span)->trace, span_set_at(p->spans, p->span)->trace,
		      sizeof(((struct span *)0)->trace)) != 0;
}

/* Adds what a thread did; work for another span delayed this one, unless tasks change threads. */
static void add_thread(struct request_pause *p, thread_id thread, nsec_t from, nsec_t to,
		       uint16_t flags)
{
	bool is_own = thread.i == span_set_at(p->spans, p->span)->thread.i;

	to = least(to, p->to);
	if (p->tasks_move && !(flags & STEP_POOL && is_busy(p, thread, from, to))) {
		add_parked(p, thread, from, to);
		return;
	}
	for (int count = 0; from < to; count++) {
		const struct span_slice *slice = span_slice_of_thread(p->slices, thread, from);
		bool inside = slice && slice->start <= from;
		nsec_t end = !slice ? to : least(inside ? slice->end : slice->start, to);
		struct span_part part = {
			.start = from, .end = end, .thread = thread, .flags = flags
		};

		if (count >= 2 * QUEUE_MAX) {
			part.end = to;
			part.flags = STEP_BEHIND | STEP_QUEUEING;
			part.state = STATE_UNKNOWN;
		} else if (inside && is_other_request(p, slice->span)) {
			part.other_span = slice->span;
			part.flags |= is_own ? STEP_QUEUEING : STEP_QUEUEING | STEP_POOL;
		}
		add(p, part);
		from = part.end;
	}
}

static bool is_poll(const struct model *model, thread_id thread, const struct stretch *s)
{
	const struct cause *cause = state_is_blocked(s->interval.state)
					    ? model_cause(model, thread, &s->interval)
					    : NULL;

	return cause && syscall_class_of(cause->syscall) == SYSCALL_POLL;
}

/* The last wait of a thread in a poll that had begun before `to`; false if none ends after `from`.
 */
static bool last_poll(const struct model *model, thread_id thread, nsec_t from, nsec_t to,
		      struct stretch *ret)
{
	bool found = model_stretch_before(model, thread, to, ret);

	while (found && ret->end > from && !is_poll(model, thread, ret))
		found = ret->interval.start > from &&
			model_stretch_before(model, thread, ret->interval.start, ret);
	return found && ret->end > from && is_poll(model, thread, ret);
}

/* The port that a span was called at, or that it calls; 0 if unknown. */
static uint16_t called_port(const struct request_pause *p, const struct span *span)
{
	const struct socket *s = model_socket(p->spans->model, span->host, span->socket);

	if (!s)
		return 0;
	return is_call(span) ? s->address.peer_port : s->address.local_port;
}

/*
 * The reply that a thread had just read for another request, when it made a call to the same peer
 * for this one, or woke the thread that did: the first request gave a connection back for which the
 * second was queued.  NULL if there is no such reply.
 */
static const struct span_reply *find_release(const struct request_pause *p, thread_id thread,
					     const struct stretch *poll, nsec_t to)
{
	const struct model *model = p->spans->model;
	const struct cause *cause = model_cause(model, thread, &poll->interval);
	const struct span *next = span_set_at(p->spans, p->next);
	nsec_t since = poll->end;
	struct stretch before;

	if (next->parent.i != p->span.i)
		return NULL;
	if (cause->context == WAKE_TASK) {
		thread = cause->waker;
		since = poll->interval.start;
		if (last_poll(model, thread, since, poll->end, &before))
			since = before.end;
	}

	const struct span_slice *slice = span_slice_of_thread(p->slices, thread, since);
	const struct span_reply *reply =
		slice ? span_reply_from(p->slices, slice->span, slice->start) : NULL;

	if (!reply || slice->start >= to || slice->span.i == p->span.i || reply->time >= to)
		return NULL;

	const struct socket *s = model_socket(model, next->host, reply->socket);

	return s && s->address.peer_port && s->address.peer_port == called_port(p, next) ? reply
											 : NULL;
}

static void add_behind(struct request_pause *p, thread_id thread, nsec_t from, nsec_t to,
		       const struct span_reply *release)
{
	add(p, (struct span_part){ .start = from,
				   .end = to,
				   .thread = thread,
				   .other_span = release->span,
				   .socket = release->socket,
				   .flags = STEP_BEHIND,
				   .state = STATE_LOCK });
}

/*
 * Whether a wait of a thread that works for the span is not a wait of the request.  If tasks move
 * between threads, a thread that waits in a poll or on a futex is idle.  Otherwise, the request can
 * be queued for a connection, which *ret_release gives back.
 */
static bool is_other_wait(const struct request_pause *p, thread_id thread, const struct stretch *s,
			  const struct span_reply **ret_release)
{
	const struct model *model = p->spans->model;

	*ret_release = NULL;
	if (p->tasks_move)
		return is_idle(model, thread, s);
	if (is_poll(model, thread, s))
		*ret_release = find_release(p, thread, s, p->to);
	return *ret_release;
}

/* Adds what a thread did for the span. */
static void add_work(struct request_pause *p, thread_id thread, nsec_t from, nsec_t to)
{
	struct span_part own = { .start = from, .thread = thread };
	const struct span_reply *release;
	struct stretch s;

	to = least(to, p->to);
	for (bool more = model_stretch_at(p->spans->model, thread, from, &s);
	     more && s.interval.start < to;
	     more = model_stretch_next(p->spans->model, thread, &s)) {
		nsec_t end = least(s.end, to);

		if (!is_other_wait(p, thread, &s, &release))
			continue;
		own.end = s.interval.start > from ? s.interval.start : from;
		add(p, own);
		if (release)
			add_behind(p, thread, own.end, end, release);
		else if (p->pool_thread.i)
			add_thread(p, p->pool_thread, own.end, end, STEP_QUEUEING | STEP_POOL);
		else
			add_parked(p, thread, own.end, end);
		own.start = end;
	}
	own.end = to;
	add(p, own);
}

static void add_reply_wait(struct request_pause *p, thread_id thread, nsec_t from, nsec_t to,
			   const struct span_reply *reply)
{
	nsec_t arrival = reply->arrival ?: to;
	uint16_t flags = reply->is_peer_recorded ? STEP_TRANSIT : STEP_REMOTE;

	arrival = least(arrival > from ? arrival : from, to);
	add(p, (struct span_part){ .start = from,
				   .end = arrival,
				   .thread = thread,
				   .socket = reply->socket,
				   .flags = flags,
				   .state = STATE_NETWORK });
	add_thread(p, thread, arrival, to, STEP_QUEUEING);
}

static bool is_timer(const struct cause *cause)
{
	return cause->context == WAKE_HRTIMER ||
	       (cause->context == WAKE_SOFTIRQ &&
		(cause->vector == VECTOR_TIMER || cause->vector == VECTOR_HRTIMER));
}

/* Whether another thread of the same process ended a wait. */
static bool is_worker(const struct request_pause *p, thread_id thread, const struct cause *cause)
{
	const struct model *model = p->spans->model;

	return cause->context == WAKE_TASK && model_thread_is_followed(model, cause->waker) &&
	       model_thread(model, cause->waker)->pid == model_thread(model, thread)->pid &&
	       model_thread(model, cause->waker)->host == model_thread(model, thread)->host;
}

/* A pause that ended without a reply; the thread worked for the request again at time `to`. */
static void add_own_wait(struct request_pause *p, thread_id thread, nsec_t from, nsec_t to)
{
	const struct model *model = p->spans->model;
	struct span_part part = { .start = from, .thread = thread };
	struct stretch poll;

	if (p->tasks_move || !last_poll(model, thread, from, to + 1, &poll)) {
		add_thread(p, thread, from, to, 0); /* the loop never waited */
		return;
	}

	const struct cause *cause = model_cause(model, thread, &poll.interval);
	const struct span_reply *release = find_release(p, thread, &poll, to);

	part.end = least(poll.end, to);
	if (release) {
		add_behind(p, thread, from, part.end, release);
	} else if (is_worker(p, thread, cause)) {
		add_thread(p, cause->waker, from, part.end, 0); /* it hands its result over */
	} else if (is_timer(cause)) {
		part.flags = STEP_OWN_TIMER;
		part.state = STATE_TIMER;
	} else {
		part.flags = STEP_PARKED;
		part.state = STATE_UNKNOWN;
	}
	if (part.flags)
		add(p, part);
	add_thread(p, thread, part.end, to, 0);
}

/* Adds the time from `from` on, in which no thread works for the span; returns its end. */
static nsec_t add_pause(struct request_pause *p, nsec_t from, const struct span_slice *next)
{
	const struct span_reply *reply = span_reply_from(p->slices, p->span, from);
	nsec_t to = next ? next->start : p->to;

	if (next && reply && reply->time <= to)
		add_reply_wait(p, next->thread, from, to, reply);
	else if (p->pool_thread.i)
		add_thread(p, p->pool_thread, from, to, STEP_QUEUEING | STEP_POOL);
	else if (!next)
		add_thread(p, span_set_at(p->spans, p->span)->thread, from, to, 0);
	else
		add_own_wait(p, next->thread, from, to);
	return to;
}

/* The start of the wait of a dispatcher during which a pool thread takes the request. */
static nsec_t handed_over(const struct request_pause *p, thread_id thread, nsec_t from)
{
	struct stretch s;

	if (!model_stretch_before(p->spans->model, thread, p->to, &s) ||
	    !state_is_blocked(s.interval.state))
		return p->to;
	return s.interval.start > from ? s.interval.start : from;
}

static nsec_t add_slice(struct request_pause *p, nsec_t from, const struct span_slice *slice)
{
	nsec_t end = least(slice->end, p->to), over = end;

	if (p->pool_thread.i && slice->end >= p->to)
		over = handed_over(p, slice->thread, from);
	add_work(p, slice->thread, from, over);
	add_thread(p, p->pool_thread, over, end, STEP_QUEUEING | STEP_POOL);
	return end;
}

static void add_call(struct request_pause *p, nsec_t from)
{
	const struct span *call = span_set_at(p->spans, p->span);
	const struct span_reply *reply = span_reply_from(p->slices, call->parent, call->end);
	struct span_reply none = { .socket = call->socket };

	p->span = call->parent; /* the thread works for the caller's request */
	add_reply_wait(p, call->thread, from, p->to > call->end ? p->to : call->end,
		       reply && reply->time == call->end ? reply : &none);
}

/* The thread of a pool that works for a span in the next section. */
static thread_id pool_thread(const struct span_set *spans, span_id span, span_id next, nsec_t from)
{
	const struct span *s = span_set_at(spans, span), *n = span_set_at(spans, next);
	bool is_handoff = n->source == SPAN_INFERRED && n->kind == SPAN_INTERNAL;

	if (n->parent.i != span.i || !is_handoff || n->thread.i == s->thread.i ||
	    model_thread(spans->model, n->thread)->begin >= from)
		return (thread_id){ 0 };
	return n->thread;
}

void request_parts_find(const struct span_set *spans, const struct span_section *section,
			span_id next, struct span_work *ret)
{
	struct request_pause p = {
		.spans = spans,
		.slices = &spans->slices,
		.span = section->span,
		.next = next,
		.pool_thread = pool_thread(spans, section->span, next, section->start),
		.to = section->end,
		.tasks_move = span_set_at(spans, section->span)->tasks_move,
		.ret = ret,
	};

	if (is_call(span_set_at(spans, section->span))) {
		add_call(&p, section->start);
		return;
	}
	for (nsec_t at = section->start; at < p.to;) {
		const struct span_slice *slice = span_slice_of_span(p.slices, p.span, at);

		at = slice && slice->start <= at ? add_slice(&p, at, slice)
						 : add_pause(&p, at, slice);
	}
}
