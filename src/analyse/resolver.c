/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/resolver.h"

#include "analyse/gil.h"
#include "analyse/lock_kind.h"
#include "analyse/pending_call.h"
#include "event/thread_state.h"

enum { STRETCHES_MAX = 8 }; /* of a waker before the wakeup that are examined */

static bool is_socket(uint8_t object_kind)
{
	return object_kind == OBJECT_INET || object_kind == OBJECT_UNIX ||
	       object_kind == OBJECT_SOCKET;
}

/*
 * The message that a thread waited for: the first one that it received after it was woken and
 * before it blocked again; if the socket of the wait is known, on that socket.
 */
static const struct message *awaited_message(const struct model *model, thread_id id,
					     const struct stretch *wait, const struct cause *cause)
{
	const struct timeline *timeline = model_thread(model, id)->timelines[TIMELINE_MESSAGES];
	bool any = !is_socket(cause->object_kind) || !cause->object;
	struct stretch next = *wait;
	nsec_t until = UINT64_MAX;
	timeline_pos pos;

	if (!timeline_from(timeline, wait->end, &pos))
		return NULL;
	while (until == UINT64_MAX && model_stretch_next(model, id, &next))
		if (state_is_blocked(next.interval.state))
			until = next.interval.start;
	do {
		const struct message *m = timeline_at(timeline, pos);

		if (m->time > until)
			break;
		if (m->direction == MESSAGE_RECEIVE && (any || m->object == cause->object))
			return m;
	} while (timeline_next(timeline, &pos));
	return NULL;
}

/* When a message that was held in the send buffer left it; its arrival is not earlier. */
static void find_left(const struct model *model, const struct message *received,
		      struct resolver *ret)
{
	const struct message *sent = model_sent_message(model, received);

	if (!sent || !(sent->flags & MESSAGE_HELD))
		return;
	ret->left = sent->wire_time ?: received->wire_time;
	ret->held = sent->held;
}

/* The last wait of a thread before time t, if it is a poll that ends after `since`. */
static const struct cause *last_poll(const struct model *model, thread_id id, nsec_t since,
				     nsec_t t, struct stretch *ret)
{
	for (size_t i = 0; i < STRETCHES_MAX && t > since; i++, t = ret->interval.start) {
		if (!model_stretch_before(model, id, t, ret))
			return NULL;
		if (!state_is_blocked(ret->interval.state))
			continue;

		const struct cause *cause = model_cause(model, id, &ret->interval);

		return cause && syscall_class_of(cause->syscall) == SYSCALL_POLL ? cause : NULL;
	}
	return NULL;
}

/* Whether a poll ended because of the network: not by a timer, nor by a thread of its process. */
static bool is_ended_by_network(const struct model *model, const struct thread *thread,
				const struct stretch *poll, const struct cause *cause)
{
	return poll->interval.state == STATE_NETWORK &&
	       (cause->context != WAKE_TASK ||
		model_thread(model, cause->waker)->pid != thread->pid);
}

/*
 * Whether the waker, a thread of the same process, waited for the network until then, and for
 * neither a reply nor this request's client.
 */
static bool is_woken_for_others(const struct model *model, const struct resolver_wait *wait,
				thread_id waker)
{
	const struct thread *thread = model_thread(model, waker);
	const struct cause *cause;
	struct stretch poll;

	if (thread->pid != model_thread(model, wait->thread)->pid)
		return false;
	cause = last_poll(model, waker, wait->from, wait->episode->last.end, &poll);
	if (!cause || !is_ended_by_network(model, thread, &poll, cause))
		return false;

	const struct message *m = awaited_message(model, waker, &poll, cause);
	const struct socket *socket = m ? model_socket(model, thread->host, m->object) : NULL;

	if (!m)
		return true;
	return socket && m->object != wait->request_socket &&
	       model_is_listening(model, thread->host, socket->netns, socket->address.local_port);
}

static bool find_peer(const struct model *model, const struct resolver_wait *wait,
		      const struct cause *cause, struct resolver *ret)
{
	const struct stretch *last = &wait->episode->last;
	const struct message *m = awaited_message(model, wait->thread, last, cause);

	if (!m)
		return false;
	/* a send has the time of its return, which can be after it woke the receiver */
	*ret = (struct resolver){ .thread = m->other,
				  .at = m->other_time < last->end ? m->other_time : last->end,
				  .socket = m->object };
	find_left(model, m, ret);
	return true;
}

static bool find_waker(const struct model *model, const struct resolver_wait *wait,
		       const struct cause *cause, struct resolver *ret)
{
	bool by_task = cause->context == WAKE_TASK, is_futex = cause->object_kind == OBJECT_FUTEX;

	*ret = (struct resolver){ .thread = cause->waker, .at = wait->episode->last.end };
	if (by_task && is_futex && is_woken_for_others(model, wait, cause->waker)) {
		*ret = (struct resolver){ .is_parked = true };
		return false;
	}
	if (!by_task && wait->episode->state == STATE_LOCK && is_futex) {
		ret->thread = gil_holder(model, wait->thread, wait->from, wait->to);
		return true;
	}
	return by_task;
}

bool resolver_find(const struct model *model, const struct resolver_wait *wait,
		   struct resolver *ret)
{
	const struct stretch *last = &wait->episode->last;
	const struct cause *cause = model_cause(model, wait->thread, &last->interval);
	uint8_t state = wait->episode->state;

	*ret = (struct resolver){ 0 };
	if (!cause || last->interval.flags & INTERVAL_OPEN ||
	    lock_kind_of(model, wait->thread, state, cause) == LOCK_GO)
		return false;

	const struct message *call = pending_call(model, wait->thread, last);

	if (call) {
		*ret = (struct resolver){ .thread = call->other,
					  .at = last->end,
					  .state = STATE_NETWORK,
					  .socket = call->object };
		return true;
	}
	/* the waker of a packet's receiver is only the thread that the packet interrupted */
	if (state == STATE_NETWORK || (state == STATE_PROCESS && cause->context != WAKE_TASK))
		if (find_peer(model, wait, cause, ret))
			return true;
	return find_waker(model, wait, cause, ret);
}
