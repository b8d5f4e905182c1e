/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/lock_tenure.h"

/* Bounds the cost: a thread seldom does more while it holds a lock. */
enum { BACK_MAX = 64 };

static bool is_same_futex(const struct cause *a, const struct cause *b)
{
	return a->object_kind == OBJECT_FUTEX && b->object_kind == OBJECT_FUTEX &&
	       a->object >> 3 == b->object >> 3;
}

/* Whether a thread waits for its client to send a request. */
static bool is_idle(const struct model *model, const struct cause *cause)
{
	const struct socket *s = cause->object_kind == OBJECT_INET
					 ? model_socket(model, cause->host, cause->object)
					 : NULL;

	return s && model_is_listening(model, cause->host, s->netns, s->address.local_port);
}

struct lock_tenure lock_tenure_of(const struct model *model, thread_id holder,
				  const struct cause *lock, nsec_t from, nsec_t to)
{
	struct stretch s;

	for (int i = 0; i < BACK_MAX && to > from && model_stretch_before(model, holder, to, &s);
	     i++, to = s.interval.start) {
		const struct cause *cause = state_is_blocked(s.interval.state)
						    ? model_cause(model, holder, &s.interval)
						    : NULL;

		if (!cause || s.end <= from)
			continue;
		if (is_same_futex(cause, lock) && cause->context == WAKE_TASK)
			return (struct lock_tenure){ s.end, cause->waker };
		if (is_idle(model, cause))
			return (struct lock_tenure){ s.end, { 0 } };
	}
	return (struct lock_tenure){ from, { 0 } };
}
