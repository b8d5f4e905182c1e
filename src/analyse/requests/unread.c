/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unread - requests that no thread has read yet.
 *
 * A server that is stopped or stalled reads nothing, so its requests are not spans yet.  A running
 * recorder reports sockets with bytes that were not read for some time; and if its clients are
 * recorded, their calls show that requests wait for it.  Earlier requests over the connection, or
 * to the same port, show which thread reads them.  The readers of ports are remembered for as long
 * as they live: the connections of a server that hangs are soon forgotten.
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

static void add_waiting(struct finder *f, uint32_t thread, uint64_t socket, nsec_t since,
			uint32_list *ret)
{
	uint32_t span = state_add(f, REQUEST_NETWORK, thread, 0, since);

	span_at(f, span)->root = span;
	span_at(f, span)->socket = socket;
	span_at(f, span)->read = span_at(f, span)->sent = since;
	span_at(f, span)->no_reply = true;
	request_assign_ids(f, span);
	*vec_push(ret) = span;
}

static uint64_t port_key(uint16_t host, uint32_t netns, uint16_t port)
{
	return hash_pair((uint64_t)netns << 16 | port, host);
}

/* The last request to each port shows which thread reads the next ones. */
void unread_note_readers(struct finder *f)
{
	for (uint32_t i = 1; i < f->sides.count; i++) {
		const struct side *s = &f->sides.items[i];
		const struct request_span *span = span_at(f, s->owner.state);
		uint16_t host = model_thread(f->model, span->thread)->host;
		const struct socket *socket = model_socket(f->model, host, span->socket);

		if (s->role == ROLE_SERVER && s->owner.state && socket)
			*map_insert(&f->readers,
				    port_key(host, socket->netns, socket->address.local_port)) =
				span->thread.i;
	}
}

/* Whether the request is known: it was read, at least in part, or the socket was read since. */
static bool is_known(struct finder *f, const struct side *s, const struct unread *u)
{
	bool is_in_flight = s->owner.state && !state_at(f, s->owner.state)->replied;

	return s->role != ROLE_SERVER || is_in_flight || s->last_use >= u->time;
}

static void add_report(struct finder *f, const struct unread *u, uint32_list *ret)
{
	const uint64_t *side = map_find(&f->side_index, hash_pair(u->object, u->host));
	const struct side *s = &f->sides.items[side ? *side : 0];
	const uint64_t *reader =
		map_find(&f->readers, port_key(u->host, u->netns, u->address.local_port));
	uint32_t thread = side && s->owner.state ? span_at(f, s->owner.state)->thread.i
			  : reader               ? *reader
						 : 0;

	if (thread && !(side && is_known(f, s, u)))
		add_waiting(f, thread, u->object, u->arrived, ret);
}

/* Reports come once a second. */
static const nsec_t report_age = 1500 * NSEC_PER_MSEC;

static uint64_t report_key(const struct unread *u)
{
	return hash_pair(hash_bytes(&u->address, sizeof(u->address)),
			 hash_pair(u->object, u->host));
}

/* The newest report of each socket. */
static void add_reports(struct finder *f, nsec_t now, uint32_list *ret)
{
	const struct timeline *reports = model_unread(f->model);
	nsec_t from = now > report_age ? now - report_age : 0;
	struct map newest = { 0 };

	TIMELINE_EACH_BETWEEN(struct unread, u, reports, from, UINT64_MAX)
	*map_insert(&newest, report_key(u)) = u->time;
	TIMELINE_EACH_BETWEEN(struct unread, u, reports, from, UINT64_MAX)
	{
		uint64_t *last = map_insert(&newest, report_key(u));

		if (*last != u->time)
			continue;
		add_report(f, u, ret);
		*last = 0;
	}
	map_done(&newest);
}

void unread_add(struct finder *f, nsec_t now, uint32_list *ret)
{
	struct map reported = { 0 };
	size_t first = ret->count;

	add_reports(f, now, ret);
	for (size_t i = first; i < ret->count; i++)
		*map_insert(&reported, span_at(f, ret->items[i])->socket) = 1;
	for (uint32_t i = 1; i < f->sides.count; i++) {
		const struct side *s = &f->sides.items[i];

		if (is_unread(f, s) && !map_find(&reported, s->server_socket))
			add_waiting(f, s->server_thread, s->server_socket, s->call_time, ret);
	}
	map_done(&reported);
}
