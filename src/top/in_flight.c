/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_flight - requests that wait for their reply now.
 *
 * A service that has stalled ends no requests: without those in flight, it would look idle.  But
 * not every client waits: a long poll waits for an event, and a log or a stream sends on and
 * expects no reply.
 */
#include "analyse/requests/idle.h"
#include "top/top_internal.h"

enum { MESSAGES_EXAMINED = 64 }; /* of a thread, the last ones */

#define SENDS_ON (NSEC_PER_SEC / 2) /* time after which a client should have sent everything */

static bool is_one_way(const struct live_view *view, const struct span *span)
{
	const struct thread *thread = model_thread(view->model, span->thread);
	const struct timeline *messages = thread->timelines[TIMELINE_MESSAGES];
	timeline_pos pos;

	if (!messages || !span->read || !timeline_find(messages, view->now, &pos))
		return false;
	for (size_t i = 0; i < MESSAGES_EXAMINED; i++) {
		const struct message *m = timeline_at(messages, pos);

		if (m->time <= span->read + SENDS_ON)
			return false;
		if (m->direction == MESSAGE_RECEIVE && m->object == span->socket)
			return true;
		if (!timeline_prev(messages, &pos))
			return false;
	}
	return false;
}

static void add(struct top *top, const struct live_view *view, span_id id)
{
	const struct span *span = span_set_at(view->spans, id);
	nsec_t since = span_arrival(span), age = view->now > since ? view->now - since : 0;

	if (request_is_idle(view->spans, id) || is_one_way(view, span))
		return;

	struct operation *op = operations_find_entry(&top->operations, view->spans, id);

	if (op->is_idle)
		return;
	op->in_flight++;
	top->in_flight++;
	op->last = top->operations.second;
	op->oldest = age > op->oldest ? age : op->oldest;
	*vec_push(&op->ages) = age;
}

void top_clear_in_flight(struct top *top)
{
	top->in_flight = 0;
	for (size_t i = 0; i <= top->operations.items.count; i++) {
		struct operation *op =
			i ? top->operations.items.items[i - 1] : top->operations.rest;

		if (!op)
			continue;
		op->in_flight = 0;
		op->oldest = 0;
		op->ages.count = 0;
	}
}

void top_add_in_flight(struct top *top, const struct live_view *view)
{
	top_clear_in_flight(top);
	operations_index_entries(&top->operations);
	for (size_t i = 0; i < view->in_flight_count; i++)
		add(top, view, view->in_flight[i]);
}
