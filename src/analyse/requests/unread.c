/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unread - requests that a recorded client has sent and that no thread has read yet.
 *
 * A server that is stopped or stalled reads nothing, so its requests are not spans yet.  If its
 * clients are recorded, their calls show that requests wait for it.  Earlier requests over the
 * connection show which thread reads them, and at which socket.
 */
#include "analyse/requests/internal.h"
#include "base/hash.h"

void unread_note_read(struct finder *f, const struct message *sent, uint16_t host,
		      const struct request_span *span)
{
	const uint64_t *index = map_find(&f->side_index, hash_pair(sent->object, host));

	if (!index)
		return;

	struct side *s = &f->sides.items[*index];

	s->server_socket = span->socket;
	s->server_thread = span->thread.i;
	if (s->read_until < sent->time)
		s->read_until = sent->time;
}

/* Whether a client waits for a server that has not read its call. */
static bool is_unread(struct finder *f, const struct side *s)
{
	float confidence;

	return s->role == ROLE_CLIENT && s->awaits_reply && s->server_thread && s->caller &&
	       s->read_until < s->call_time && !owner_state(f, s->owner, &confidence) &&
	       !map_find(&f->services, process_key(thread_of(f, s->caller)));
}

void unread_add(struct finder *f, uint32_list *ret)
{
	for (uint32_t i = 1; i < f->sides.count; i++) {
		const struct side *s = &f->sides.items[i];

		if (!is_unread(f, s))
			continue;

		uint32_t span = state_add(f, REQUEST_NETWORK, s->server_thread, 0, s->call_time);

		span_at(f, span)->root = span;
		span_at(f, span)->socket = s->server_socket;
		span_at(f, span)->read = span_at(f, span)->sent = s->call_time;
		span_at(f, span)->no_reply = true;
		span_at(f, span)->is_client_recorded = true;
		request_assign_ids(f, span);
		*vec_push(ret) = span;
	}
}
