/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/requests/spans.h"

#include <string.h>

#include "analyse/requests/joined.h"
#include "analyse/requests/sum.h"
#include "base/hash.h"
#include "base/map.h"

const char *request_kind_name(enum request_kind kind)
{
	static const char *const names[] = {
		[REQUEST_NETWORK] = "network",
		[REQUEST_FORK] = "fork",
		[REQUEST_HANDOFF] = "handoff",
		[REQUEST_CALL] = "call",
	};

	return names[kind];
}

bool request_is_whole(const struct request_span *span)
{
	return !span->parent && span->kind == REQUEST_NETWORK && !span->parent_unknown &&
	       !span->no_reply;
}

/*
 * The parent does not wait for work that goes on long after the parent's reply.  A thread that
 * returns from sending its own reply shortly after the parent's reply is not such work.
 */
static bool outlasts_parent(const struct request_span *span, const struct request_span *parent)
{
	return span->end > parent->end && span->end - parent->end > (span->end - span->start) / 10;
}

static uint8_t flags_of(const struct requests *requests, const struct request_span *span)
{
	uint8_t flags = 0;

	if (span->parent && outlasts_parent(span, &requests->spans.items[span->parent]))
		flags |= SPAN_FOLLOWS;
	if (span->no_reply || (!span->parent && !request_is_whole(span)))
		flags |= SPAN_OPEN;
	if (span->before_accept)
		flags |= SPAN_ACCEPT_QUEUE;
	return flags;
}

/* Names that were used before: to format an address takes longer than the rest of a span. */
struct used_names {
	struct map services;  /* thread -> name */
	struct map addresses; /* hash of an address -> name */
};

static void used_names_done(struct used_names *names)
{
	map_done(&names->services);
	map_done(&names->addresses);
}

static str_id service_of(struct span_set *set, struct used_names *names, thread_id thread)
{
	uint64_t *name = map_insert(&names->services, thread.i);

	if (!*name)
		*name = span_set_intern(set, request_service(set->model, thread)).i;
	return (str_id){ *name };
}

/* The same for the addresses that have the same text. */
static uint64_t address_key(const struct socket_address *a, bool is_peer)
{
	struct {
		uint8_t address[16];
		uint32_t port;
		uint32_t family;
	} key = { .port = is_peer ? a->peer_port : a->local_port, .family = a->family };

	memcpy(key.address, is_peer ? a->peer : a->local, sizeof(key.address));
	return hash_bytes(&key, sizeof(key));
}

/* The address that the request came to, or that of a call; otherwise, its kind. */
static str_id operation_of(struct span_set *set, struct used_names *names,
			   const struct request_span *request)
{
	uint16_t host = model_thread(set->model, request->thread)->host;
	const struct socket *socket = model_socket(set->model, host, request->socket);
	bool is_call = request->kind == REQUEST_CALL;

	if (!socket || (request->kind != REQUEST_NETWORK && !is_call))
		return span_set_intern(set, request_kind_name(request->kind));

	uint64_t *name = map_insert(&names->addresses, address_key(&socket->address, is_call));

	if (!*name) {
		struct request_address address = request_address(set->model, request);
		const char *where = is_call ? address.peer : address.local;

		*name = span_set_intern(set, *where ? where : request_kind_name(request->kind)).i;
	}
	return (str_id){ *name };
}

static span_id add_span(struct span_set *set, struct used_names *names,
			const struct requests *requests, const struct request_span *request)
{
	static const uint8_t kinds[] = {
		[REQUEST_NETWORK] = SPAN_SERVER,
		[REQUEST_FORK] = SPAN_INTERNAL,
		[REQUEST_HANDOFF] = SPAN_INTERNAL,
		[REQUEST_CALL] = SPAN_CLIENT,
	};
	const struct model *model = set->model;
	const struct thread *thread = model_thread(model, request->thread);
	struct span span = {
		.start = request->start,
		.end = request->end,
		.arrival = request->arrival_unknown ? 0 : request->start,
		.read = request->read,
		.sent = request->sent,
		.held = request->held,
		.socket = request->socket,
		.is_client_recorded = request->is_client_recorded,
		.thread = request->thread,
		.tid = thread->tid,
		.pid = thread->pid,
		.host = thread->host,
		.service = service_of(set, names, request->thread),
		.operation = operation_of(set, names, request),
		.source = SPAN_INFERRED,
		.tasks_move = request->tasks_move,
		.kind = kinds[request->kind],
		.flags = flags_of(requests, request),
	};

	if (request->kind != REQUEST_NETWORK)
		span.arrival = span.read = span.sent = 0;
	memcpy(span.trace, request->trace, sizeof(span.trace));
	memcpy(span.id, request->id, sizeof(span.id));
	if (request->parent)
		memcpy(span.parent_id, requests->spans.items[request->parent].id,
		       sizeof(span.parent_id));
	return span_set_add(set, &span);
}

static void add_reply(struct span_set *set, const struct request_reply *reply, span_id id)
{
	span_slices_add_reply(&set->slices,
			      &(struct span_reply){ .time = reply->time,
						    .arrival = reply->arrival,
						    .socket = reply->socket,
						    .span = id,
						    .is_peer_recorded = reply->is_peer_recorded });
}

static void add_slices(struct span_set *set, const struct requests *requests, uint32_t index,
		       span_id id)
{
	const struct request_span *span = &requests->spans.items[index];

	for (uint32_t i = 0; i < span->work_count; i++) {
		const struct request_work *work = &requests->work.items[span->first_work + i];

		span_slices_add(&set->slices, &(struct span_slice){ .start = work->from,
								    .end = work->to,
								    .thread = work->thread,
								    .span = id });
	}
}

void request_spans_add_ids(const struct requests *requests, const struct span_join *join,
			   struct span_set *set, span_id *ids)
{
	_cleanup_(used_names_done) struct used_names names = { 0 };
	bool has_joins = join && join->count;

	for (size_t i = 1; i < requests->spans.count; i++) {
		ids[i] = has_joins ? join->spans.items[i].span : (span_id){ 0 };
		if (!ids[i].i)
			ids[i] = add_span(set, &names, requests, &requests->spans.items[i]);
		add_slices(set, requests, i, ids[i]);
	}
	for (size_t i = 0; i < requests->replies.count; i++)
		add_reply(set, &requests->replies.items[i], ids[requests->replies.items[i].span]);
	span_set_finish(set);
	if (has_joins)
		joined_spans_link(set, requests, join, ids);
}

void request_spans_add(const struct requests *requests, const struct span_join *join,
		       struct span_set *set)
{
	_cleanup_(freep) span_id *ids = must_alloc((requests->spans.count + 1) * sizeof(*ids));

	request_spans_add_ids(requests, join, set, ids);
}

/* Whether the recorded threads of spans explain them without a join. */
static bool has_span_with_thread(const struct model *model)
{
	for (uint32_t i = 1; i < model_span_count(model); i++) {
		const struct span *span = model_span(model, (span_id){ i });

		/* requests that were rebuilt and exported before are rebuilt again */
		if (span->source != SPAN_INFERRED && model_thread_is_followed(model, span->thread))
			return true;
	}
	return false;
}

bool request_spans_join(struct requests *requests, struct span_set *set, nsec_t since, span_id *ids,
			bool *has_joined)
{
	_cleanup_(freep) span_id *own = must_alloc((requests->spans.count + 1) * sizeof(*own));
	bool unused = false;
	struct span_join join;

	has_joined = has_joined ? has_joined : &unused;
	span_join_find(set->model, requests, since, &join);
	*has_joined |= join.count > 0;

	bool adds = *has_joined || !has_span_with_thread(set->model);

	if (adds)
		request_spans_add_ids(requests, &join, set, ids ? ids : own);
	else
		requests_done(requests);
	span_join_done(&join);
	return adds;
}
