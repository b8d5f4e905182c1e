/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrival - the times of a request as its client sees them.
 *
 * While events are processed, a request starts when a thread reads it and ends when a thread has
 * passed the reply to the socket.  For the client it starts when its first byte arrives at the
 * socket, and ends when the last byte of the reply leaves the send buffer.  This file moves both
 * ends of each span outwards after the pass; the work of threads keeps its times.
 *
 * The kernel's time of arrival is exact.  Without it, the send of a recorded client on the same
 * host is the arrival.  The send of a client on another host is not, because the message was in
 * transit for an unknown time: then the request starts at its read, and is marked.
 */
#include "analyse/requests/internal.h"

/* A request read at once was sent in few parts. */
enum { PARTS_MAX = 64 };

/* The send of the first byte of a received message, if its last byte was sent at other_time. */
static nsec_t first_sent(const struct model *model, const struct message *m)
{
	const struct thread *sender = model_thread(model, m->other);
	const struct timeline *timeline = sender->timelines[TIMELINE_MESSAGES];
	nsec_t first = m->other_time;
	uint64_t object = 0;
	timeline_pos pos;

	if (!timeline || !timeline_find(timeline, m->other_time, &pos))
		return first;
	for (int i = 0; i < PARTS_MAX; i++) {
		const struct message *s = timeline_at(timeline, pos);
		uint32_t behind = m->position - s->position; /* of the end of the send */
		bool sends = s->direction == MESSAGE_SEND;

		if (sends && !object && s->time == m->other_time)
			object = s->object;
		else if (sends && s->object == object && behind >= m->bytes)
			break;
		else if (sends && s->object == object)
			first = s->time;
		if (!timeline_prev(timeline, &pos))
			break;
	}
	return first;
}

nsec_t request_arrival(const struct model *model, uint16_t host, const struct message *m)
{
	if (m->wire_time)
		return m->wire_time;
	if (!m->other.i || model_thread(model, m->other)->host != host)
		return 0;
	return first_sent(model, m);
}

static void set_arrival(struct finder *f, struct request_span *span, const struct message *m)
{
	uint16_t host = model_thread(f->model, span->thread)->host;
	nsec_t arrival = request_arrival(f->model, host, m);

	span->arrival_unknown = !arrival;
	span->before_accept = m->flags & MESSAGE_BEFORE_ACCEPT;
	/* a send has the time of its return, which can be after the read */
	if (arrival && arrival < span->start)
		span->start = arrival;
	else if (arrival > span->start && arrival <= m->time)
		span->read = arrival;
}

void reply_left(struct finder *f, uint32_t state)
{
	struct work_state *work = state_at(f, state);
	const struct message *m = work->last_reply;

	if (!m)
		return;

	bool same_host = thread_of(f, m->other.i)->host == thread_of(f, work->last_replier)->host;
	/* what the sender itself holds back leaves with a later send, which counts then */
	nsec_t left = m->held == HELD_CORK ? 0 : m->wire_time;

	/* not recorded, because nothing followed on the connection; the client has read it */
	if (!left && m->held != HELD_CORK && m->flags & MESSAGE_HELD && m->other.i && same_host)
		left = m->other_time;
	if (left <= work->left)
		return;
	work->left = left;
	work->held = m->held;
}

/* A client that sends its next request has received the reply, unless it sent both at once. */
static void set_left(struct request_span *span, const struct work_state *work)
{
	nsec_t left = work->left;

	if (work->next_arrival > span->sent && left > work->next_arrival)
		left = work->next_arrival;
	if (left <= span->end)
		return;
	span->end = left;
	span->held = work->held;
}

void requests_set_times(struct finder *f)
{
	for (uint32_t i = 1; i < f->out->spans.count; i++) {
		struct request_span *span = span_at(f, i);
		const struct work_state *work = state_at(f, i);

		span->read = span->start;
		span->sent = span->end;
		if (span->kind != REQUEST_NETWORK)
			continue;
		set_arrival(f, span, work->received);
		reply_left(f, i);
		if (work->replied)
			set_left(span, work);
	}
}
