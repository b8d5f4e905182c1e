/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_call - calls to services that were not recorded.
 *
 * A database on another host is the normal case: no thread of it is in the capture.  Its time is
 * known all the same, as the caller sends and reads on a connection whose other end no recorded
 * thread uses.  So such a call becomes a span of its own, from the send (or the connect before
 * it) to the read of the reply's last part.  Messages without a reply, such as log lines, are
 * no calls.
 */
#include "analyse/requests/internal.h"

void client_call_begin(struct finder *f, uint32_t thread, uint32_t side, const struct message *m)
{
	struct side *s = &f->sides.items[side];
	nsec_t start = s->connect_time ?: m->time;

	s->connect_time = 0;
	s->call = f->client_calls.count;
	*vec_push(&f->client_calls) = (struct client_call){ .sent = m,
							    .start = start,
							    .thread = thread,
							    .side = side,
							    .is_peer_recorded = m->other.i };
}

void client_call_reply(struct finder *f, uint32_t side, const struct message *m)
{
	struct client_call *call = &f->client_calls.items[f->sides.items[side].call];

	call->end = m->time;
	call->is_peer_recorded |= m->other.i > 0;
}

static void add_call(struct finder *f, const struct client_call *call)
{
	const uint64_t *sent = map_find(&f->sent, (uintptr_t)call->sent);
	float confidence;
	uint32_t owner = sent ? owner_state(f, f->calls.items[*sent].owner, &confidence) : 0;

	if (!owner)
		return;
	/* a connection that was opened in advance, for another request, is no part of the call */
	nsec_t start = call->start < span_at(f, owner)->start ? call->sent->time : call->start;
	uint32_t span = state_add(f, REQUEST_CALL, call->thread, owner, start);

	span_at(f, span)->end = call->end;
	span_at(f, span)->socket = call->sent->object;
	span_at(f, span)->confidence = confidence;
}

void client_calls_add(struct finder *f)
{
	for (size_t i = 1; i < f->client_calls.count; i++) {
		const struct client_call *call = &f->client_calls.items[i];

		if (call->end > call->start && !call->is_peer_recorded && !call->sent->other.i &&
		    !f->sides.items[call->side].is_peer_recorded)
			add_call(f, call);
	}
}
