/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets, connections and messages.
 *
 * Both ends of a TCP connection count its bytes in the same way, and records contain
 * the position.  The model itself counts the bytes of a unix socket.  Its flow is
 * identified by the sending socket, because a client can send before the server accepts
 * the connection, when the sending socket has no peer yet.  The SOCKET record of the
 * accepting socket links both.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "model/model_internal.h"

static uint64_t connection_key(const struct source *source, const struct socket_address *address,
			       uint32_t netns)
{
	uint64_t namespace = (uint64_t)source->host << 32 | netns;

	return host_key(source->host, flow_key(address, namespace, true));
}

/*
 * The handshake of a connection comes before its socket has a number; the SOCKET record at its
 * first use links both.  A later connection with the same addresses replaces the time.
 */
static void set_times(struct model *model, const struct source *source, struct socket *socket,
		      const struct record_socket *r)
{
	uint64_t key = connection_key(source, &r->address, r->netns);
	const uint64_t *time =
		r->address.protocol == IPPROTO_TCP ? map_find(&model->established, key) : NULL;

	socket->first_use = source_time(source, r->head.time);
	if (!time)
		return;
	socket->established = *time;
	map_remove(&model->established, key);
}

void model_add_socket(struct model *model, const struct source *source,
		      const struct record_socket *r)
{
	struct socket *socket =
		indexed(&model->sockets, &model->socket_index, host_key(source->host, r->object));
	struct socket_address address = flow_wire_address(&r->address);
	bool same = memcmp(&address, &socket->address, sizeof(address)) == 0;
	uint64_t peer_object = r->peer_object ?: socket->peer_object;

	*socket = (struct socket){ address,
				   peer_object,
				   r->peer_pid,
				   r->netns,
				   same ? socket->established : 0,
				   same ? socket->first_use : 0,
				   model_described(model, source) };
	if (!same)
		set_times(model, source, socket, r);

	struct socket *peer = find_indexed(&model->sockets, &model->socket_index,
					   host_key(source->host, r->peer_object));

	if (r->peer_object && peer && !peer->peer_object)
		peer->peer_object = r->object;
}

struct message *model_message_at(struct model *model, thread_id thread, nsec_t time,
				 uint32_t position, enum direction direction)
{
	const struct timeline *timeline = thread_at(model, thread)->timelines[TIMELINE_MESSAGES];
	timeline_pos pos;

	if (!timeline || !timeline_find(timeline, time, &pos))
		return NULL;

	do {
		struct message *m = timeline_at(timeline, pos);

		if (m->time != time)
			break;
		if (m->direction == direction && m->position == position)
			return m;
	} while (timeline_prev(timeline, &pos));
	return NULL;
}

static struct message *message_of(struct model *model, const struct flow_end *end,
				  enum direction direction)
{
	return model_message_at(model, (thread_id){ end->thread }, end->time, end->position,
				direction);
}

static void join_message(void *arg, const struct flow_end *send, const struct flow_end *receive)
{
	struct message *s = message_of(arg, send, MESSAGE_SEND);
	struct message *r = message_of(arg, receive, MESSAGE_RECEIVE);
	nsec_t last = send->time > receive->time ? send->time : receive->time;

	if (!s || !r)
		return;
	thread_used(thread_at(arg, (thread_id){ send->thread }), last);
	thread_used(thread_at(arg, (thread_id){ receive->thread }), last);
	s->other = (thread_id){ receive->thread };
	s->other_time = receive->time;
	r->other = (thread_id){ send->thread };
	r->other_time = send->time;
}

/* The key of a message's flow; 0 if its bytes cannot be located in a flow. */
static uint64_t message_flow_key(const struct socket *socket, const struct source *source,
				 const struct record_message *r)
{
	bool sends = r->direction == MESSAGE_SEND;
	uint64_t namespace = (uint64_t)source->host << 32 | socket->netns;

	if (socket->address.family == AF_UNIX) {
		uint64_t from[] = { source->host, sends ? r->object : socket->peer_object };

		return from[1] ? hash_bytes(from, sizeof(from)) : 0;
	}
	if (!r->position && r->bytes)
		return 0;
	return flow_key(&socket->address, namespace, sends);
}

/* Sets the position of a message in a flow that the model counts; false if it is unknown. */
static bool count_bytes(struct flow *flow, bool sends, struct flow_end *end)
{
	if (end->bytes) {
		uint32_t *count = sends ? &flow->sent : &flow->received;

		end->position = *count += end->bytes;
		return true;
	}
	/* without sizes, a receive belongs to the last send */
	if (!sends && flow->received == flow->sent)
		return false;
	flow->sent += sends;
	if (!sends)
		flow->received = flow->sent;
	end->position = flow->sent;
	end->bytes = 1;
	return true;
}

static void find_other_side(struct model *model, const struct source *source,
			    const struct record_message *r, struct message *m, thread_id thread)
{
	const struct socket *socket = model_socket(model, source->host, r->object);
	uint64_t key = socket ? message_flow_key(socket, source, r) : 0;
	bool sends = r->direction == MESSAGE_SEND;

	if (!key)
		return;
	/* only clocks of one group can be compared, so flows never join groups */
	struct flow *flow = flow_get(&model->flows, host_key(source->group, key));
	struct flow_end end = { m->time, r->position, r->bytes, thread.i, 0 };

	if ((!r->position || socket->address.family == AF_UNIX) && !count_bytes(flow, sends, &end))
		return;
	if (!end.bytes)
		end.bytes = 1; /* unknown size: only the last byte can be matched */
	m->position = end.position;
	if (sends)
		flow_send(&model->flows, flow, &end, join_message, model);
	else
		flow_receive(&model->flows, flow, &end, join_message, model);
}

void model_add_message(struct model *model, const struct source *source,
		       const struct record_message *r)
{
	nsec_t now = source_time(source, r->head.time);
	thread_id id = model_thread_of(model, source, r->head.tid, now);
	struct message *m = timeline_push(model_thread_timeline(
		thread_at(model, id), TIMELINE_MESSAGES, sizeof(struct message)));

	*m = (struct message){
		.time = now,
		.object = r->object,
		.bytes = r->bytes,
		.position = r->position,
		.direction = r->direction,
		.object_kind = r->object_kind,
		.flags = r->flags,
	};
	if (m->direction == MESSAGE_RECEIVE && message_lag(r) && message_lag(r) < now)
		m->wire_time = now - message_lag(r);
	find_other_side(model, source, r, m, id);
	if (m->direction == MESSAGE_SEND && m->flags & MESSAGE_HELD)
		model_hold_message(model, source->host, id, m);
}

/*
 * A server that hangs does not use its sockets, so they are described by this alone.  A connection
 * that was not accepted has no socket; its address takes the place of a number.
 */
static uint64_t keep_unread_socket(struct model *model, const struct source *source,
				   const struct record_unread *r)
{
	struct socket_address address = flow_wire_address(&r->address);
	uint64_t object = r->object ?: hash_bytes(&address, sizeof(address)) | 1ull << 63;
	struct socket *socket =
		indexed(&model->sockets, &model->socket_index, host_key(source->host, object));

	if (!socket->address.family) {
		socket->address = address;
		socket->netns = r->netns;
	}
	socket->described = model_described(model, source);
	return object;
}

void model_add_unread(struct model *model, const struct source *source,
		      const struct record_unread *r)
{
	nsec_t now = source_time(source, r->head.time), arrived = source_time(source, r->arrived);

	*(struct unread *)timeline_push(&model->unread) =
		(struct unread){ .time = now,
				 .arrived = arrived < now ? arrived : now,
				 .object = keep_unread_socket(model, source, r),
				 .address = flow_wire_address(&r->address),
				 .netns = r->netns,
				 .bytes = r->bytes,
				 .host = source->host };
}

const struct timeline *model_unread(const struct model *model)
{
	return &model->unread;
}

static void add_connect(struct model *model, const struct source *source,
			const struct record_socket_state *r)
{
	nsec_t now = source_time(source, r->head.time);
	thread_id id = model_thread_of(model, source, r->head.tid, now);
	struct timeline *timeline = model_thread_timeline(thread_at(model, id), TIMELINE_CONNECTS,
							  sizeof(struct connect));

	*(struct connect *)timeline_push(timeline) = (struct connect){ now, r->object };
}

void model_add_socket_state(struct model *model, const struct source *source,
			    const struct record_socket_state *r)
{
	bool accepted = r->from == TCP_SYN_RECV && r->to == TCP_ESTABLISHED;
	nsec_t now = source_time(source, r->head.time);

	if (accepted)
		*map_insert(&model->established, connection_key(source, &r->address, r->netns)) =
			now;
	if (accepted || r->to == TCP_LISTEN)
		*map_insert(&model->listeners,
			    listener_key(source->host, r->netns, r->address.local_port)) = now;
	if (r->to == TCP_SYN_SENT && r->object && r->head.tid)
		add_connect(model, source, r);
}
