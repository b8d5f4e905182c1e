/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/pending_call.h"

#include "event/thread_state.h"

/* Whether a thread can wait in a system call for more than a timer. */
static bool can_wait_for(const struct cause *cause, const struct message *m)
{
	if (cause->object_kind == OBJECT_INET)
		return cause->object == m->object;
	return syscall_class_of(cause->syscall) == SYSCALL_POLL;
}

static bool is_client(const struct model *model, uint16_t host, const struct message *m)
{
	const struct socket *s =
		m->object_kind == OBJECT_INET ? model_socket(model, host, m->object) : NULL;

	return s && s->address.peer_port &&
	       !model_is_listening(model, host, s->netns, s->address.local_port);
}

const struct message *pending_call(const struct model *model, thread_id id,
				   const struct stretch *wait)
{
	const struct thread *thread = model_thread(model, id);
	const struct timeline *messages = thread->timelines[TIMELINE_MESSAGES];
	const struct cause *cause = model_cause(model, id, &wait->interval);
	timeline_pos pos;

	if (wait->interval.state != STATE_TIMER || !cause || !messages ||
	    !timeline_find(messages, wait->interval.start, &pos))
		return NULL;

	const struct message *m = timeline_at(messages, pos);

	return m->direction == MESSAGE_SEND && can_wait_for(cause, m) &&
			       is_client(model, thread->host, m)
		       ? m
		       : NULL;
}
