/* SPDX-License-Identifier: Apache-2.0 */
#include "flight/schedule.h"

void schedule_done(struct schedule *s)
{
	vec_done(&s->waiting);
}

void schedule_add(struct schedule *s, const struct slow_request *request, nsec_t from)
{
	if (s->waiting.count >= SCHEDULE_WAITING_MAX) {
		s->missed++;
		return;
	}

	struct slow_request *added = vec_push(&s->waiting);

	*added = *request;
	added->is_partial = request->start < from;
}

/* A partial request is dropped when the rest of it is. */
static bool is_held(const struct slow_request *request, nsec_t from)
{
	return (request->is_partial ? request->end : request->start) >= from;
}

void schedule_forget(struct schedule *s, nsec_t from)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->waiting.count; i++)
		if (is_held(&s->waiting.items[i], from))
			s->waiting.items[kept++] = s->waiting.items[i];
	s->missed += s->waiting.count - kept;
	s->waiting.count = kept;
}

static bool is_complete(const struct slow_request *request, nsec_t to)
{
	return request->end + SCHEDULE_TAIL <= to;
}

bool schedule_is_due(const struct schedule *s, nsec_t to)
{
	if (s->last && to < s->last + s->every)
		return false;
	for (size_t i = 0; i < s->waiting.count; i++)
		if (is_complete(&s->waiting.items[i], to))
			return true;
	return false;
}

void schedule_take(struct schedule *s, nsec_t to, bool is_last, slow_requests *ret)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->waiting.count; i++) {
		struct slow_request request = s->waiting.items[i];

		if (is_last || is_complete(&request, to))
			*vec_push(ret) = request;
		else
			s->waiting.items[kept++] = request;
	}
	s->waiting.count = kept;
	s->last = to;
}
