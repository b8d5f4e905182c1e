/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages: which thread sent bytes, and which received them.
 *
 * Traces contain messages in one of three forms.  ftrace and perf have tracepoints
 * in the send and receive calls, with the kernel's address of the socket but no
 * position in the stream.  So the replay counts positions from the start of the
 * connection, and both sides arrive at the same numbers.  If the start is missing from
 * the trace, messages have no position.
 *
 * LTTng has the packets, with TCP headers and thus positions, but without the
 * programs.  The sender of a segment is the thread that runs when the segment goes to
 * the device.  When an interrupt or a kernel thread sends it later, because the
 * window opens, the sender is the last thread that sent on this connection.  The
 * receiver is the thread that the softirq of the segment wakes or, with threaded
 * interrupts, that the interrupt's thread wakes soon after.  If the receiver was
 * not asleep, it remains unknown.
 *
 * Older LTTng traces have inet_sock_local_in and _out instead, with the socket of
 * each segment but no address and no size.  Sequence number, acknowledged number and
 * flags are the same on both sides, also on two hosts.  So each segment gets an
 * address made from these, which its receiver finds as well.  Only segments with
 * the end of a write count as messages, which TCP marks with PSH; acknowledgements
 * do not.
 */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <xxhash.h>

#include "read/replay/internal.h"

enum { STATE_ESTABLISHED = 1, STATE_SYN_SENT = 2, STATE_SYN_RECEIVED = 3, STATE_CLOSED = 7 };

static struct replay_socket *socket_of(struct replay *r, uint64_t name)
{
	uint64_t *index = map_insert(&r->sockets, name);

	if (!*index) {
		*vec_push(&r->socket_list) = (struct replay_socket){ .object = ++r->socket_count };
		*index = r->socket_list.count;
	}
	return &r->socket_list.items[*index - 1];
}

/* The kernel reuses the address of a socket for another one. */
static struct replay_socket *new_socket(struct replay *r, uint64_t name)
{
	struct replay_socket *socket = socket_of(r, name);

	*socket = (struct replay_socket){ .object = ++r->socket_count };
	return socket;
}

static bool has_address(const struct socket_address *a)
{
	return a->local_port && a->peer_port;
}

static void describe_socket(struct replay *r, struct replay_socket *socket,
			    const struct raw_event *e)
{
	if (socket->described || !has_address(&socket->address))
		return;

	struct record_socket *s = replay_make(r, RECORD_SOCKET, sizeof(*s), 0, e->cpu, e->time);

	s->object = socket->object;
	s->address = socket->address;
	socket->described = true;
}

static void make_message(struct replay *r, uint32_t tid, const struct raw_event *e,
			 const struct record_message *what)
{
	struct record_message *m = replay_make(r, RECORD_MESSAGE, sizeof(*m), tid, e->cpu, e->time);
	struct record head = m->head;

	*m = *what;
	m->head = head;
}

/* The address in an event, IPv4 or IPv6. */
static struct socket_address address_of(const struct raw_event *e)
{
	struct socket_address a = e->socket.address;

	if (!a.family)
		a.family = AF_INET;
	if (!a.protocol)
		a.protocol = IPPROTO_TCP;
	if (a.family == AF_INET6) {
		memcpy(a.local, e->socket.local6, sizeof(a.local));
		memcpy(a.peer, e->socket.peer6, sizeof(a.peer));
	} else {
		memset(a.local + 4, 0, sizeof(a.local) - 4);
		memset(a.peer + 4, 0, sizeof(a.peer) - 4);
	}
	return a;
}

/* Identifies a socket by its address if events do not contain the kernel's. */
static uint64_t name_of(const struct socket_address *a)
{
	return XXH3_64bits(a, sizeof(*a)) | 1;
}

static uint8_t object_kind_of(const struct socket_address *a)
{
	if (a->family == AF_INET || a->family == AF_INET6)
		return OBJECT_INET;
	return a->family == AF_UNIX ? OBJECT_UNIX : OBJECT_SOCKET;
}

void replay_message(struct replay *r, const struct raw_event *e)
{
	const uint32_t counts = 1u << RAW_SOCKET_RECEIVE;
	struct replay_thread *t = replay_current_thread(r, e);
	struct socket_address address = address_of(e);
	struct replay_socket *socket = socket_of(r, e->socket.object ?: name_of(&address));
	bool sends = e->kind == RAW_SOCKET_SEND;
	uint64_t *count = sends ? &socket->sent : &socket->received;

	if (has_address(&address))
		socket->address = address;
	describe_socket(r, socket, e);
	if (!t || e->socket.bytes < 0 || (e->socket.flags & MSG_PEEK && !sends))
		return;
	/* RAW_SOCKET_RECEIVE has the size as well; do not count a receive twice */
	if (e->kind == RAW_TCP_RECEIVE && (r->seen | r->source->kinds) & counts)
		return;
	if (!e->socket.bytes && e->kind == RAW_SOCKET_RECEIVE)
		return; /* end of the stream */
	*count += e->socket.bytes;
	make_message(r, t->tid, e,
		     &(struct record_message){
			     .object = socket->object,
			     .bytes = e->socket.bytes,
			     .position = socket->counted ? *count + 1 : 0,
			     .direction = sends ? MESSAGE_SEND : MESSAGE_RECEIVE,
			     .object_kind = object_kind_of(&address),
		     });
}

void replay_exported_message(struct replay *r, const struct raw_event *e)
{
	struct replay_thread *t = replay_current_thread(r, e);
	struct replay_socket *socket = socket_of(r, e->message.object);

	if (memcmp(&socket->address, &e->message.address, sizeof(socket->address)) != 0) {
		socket->address = e->message.address;
		socket->described = false;
	}
	socket->object = e->message.object; /* unique on the recorded host */
	describe_socket(r, socket, e);
	if (t)
		make_message(r, t->tid, e,
			     &(struct record_message){
				     .object = e->message.object,
				     .bytes = e->message.bytes,
				     .position = e->message.position,
				     .direction = e->message.direction,
				     .object_kind = e->message.object_kind,
			     });
}

void replay_socket_state(struct replay *r, const struct raw_event *e)
{
	uint32_t from = e->socket.from, to = e->socket.to;
	struct socket_address address = address_of(e);
	struct replay_thread *t = replay_current_thread(r, e);
	struct record_socket_state *s =
		replay_make(r, RECORD_SOCKET_STATE, sizeof(*s), t ? t->tid : 0, e->cpu, e->time);

	s->address = address;
	s->from = from;
	s->to = to;
	if (!e->socket.object || address.protocol != IPPROTO_TCP)
		return;

	bool begins = to == STATE_SYN_SENT || from == STATE_SYN_RECEIVED;
	struct replay_socket *socket =
		begins ? new_socket(r, e->socket.object) : socket_of(r, e->socket.object);

	s->object = socket->object;
	if (to == STATE_CLOSED)
		new_socket(r, e->socket.object); /* the kernel can reuse its address */
	if (to != STATE_ESTABLISHED)
		return;
	socket->address = address;
	socket->counted = from == STATE_SYN_SENT || from == STATE_SYN_RECEIVED;
	describe_socket(r, socket, e);
}

/* Position and size of the payload of a segment; false if it has none. */
static bool read_segment(const struct raw_event *e, struct socket_address *ret_address,
			 struct segment *ret)
{
	uint32_t headers = 4 * (e->packet.ip_words + e->packet.tcp_words);

	if (!has_address(&e->packet.address) || !e->packet.tcp_words || e->packet.bytes <= headers)
		return false; /* UDP, or no payload */
	*ret_address = e->packet.address;
	ret_address->family = e->packet.ip_words ? AF_INET : AF_INET6;
	ret_address->protocol = IPPROTO_TCP;
	ret->bytes = e->packet.bytes - headers;
	ret->position = e->packet.seq + ret->bytes;
	return true;
}

static struct socket_address swap_sides(const struct socket_address *a)
{
	struct socket_address b = *a;

	b.local_port = a->peer_port;
	b.peer_port = a->local_port;
	memcpy(b.local, a->peer, sizeof(b.local));
	memcpy(b.peer, a->local, sizeof(b.peer));
	return b;
}

static bool is_in_interrupt(const struct replay_cpu *cpu, const struct replay_thread *t)
{
	return cpu->hardirq || cpu->softirq || !t || t->kernel;
}

static void send_segment(struct replay *r, const struct replay_cpu *cpu, const struct raw_event *e,
			 const struct segment *segment, struct replay_socket *socket)
{
	const struct replay_thread *t = replay_current_thread(r, e);

	/* a kernel thread handles an interrupt, or is itself the sender */
	if (t && (!is_in_interrupt(cpu, t) || (t->kernel && !socket->sender)))
		socket->sender = t->tid;
	if (!socket->sender)
		return;
	make_message(r, socket->sender, e,
		     &(struct record_message){ .object = socket->object,
					       .bytes = segment->bytes,
					       .position = segment->position,
					       .direction = MESSAGE_SEND,
					       .object_kind = OBJECT_INET });
}

static void receive_segment(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e,
			    struct segment segment, const struct replay_socket *socket)
{
	const struct replay_thread *t = replay_current_thread(r, e);

	segment.object = socket->object;
	segment.time = e->time;
	segment.tid = cpu->softirq || cpu->hardirq || !t ? 0 : t->tid;
	cpu->segment = segment;
}

/* An address for one segment; the local side is the sender's. */
static struct socket_address address_of_segment(const struct raw_event *e)
{
	struct {
		uint32_t seq, ack, flags, side;
	} from = { e->packet.seq, e->packet.ack, e->packet.flags, 1 }, to = from;
	struct socket_address a = { .family = AF_UNSPEC, .protocol = IPPROTO_TCP };

	to.side = 2;
	memcpy(a.local, &from, sizeof(a.local));
	memcpy(a.peer, &to, sizeof(a.peer));
	return a;
}

static void describe_local(struct replay *r, uint64_t object, const struct socket_address *address,
			   const struct raw_event *e)
{
	struct record_socket *s = replay_make(r, RECORD_SOCKET, sizeof(*s), 0, e->cpu, e->time);

	s->object = object;
	s->address = *address;
}

static void local_segment(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e)
{
	enum { PUSH = 8 };
	struct replay_socket *socket = socket_of(r, e->packet.object);
	struct segment segment = { .position = e->packet.seq ?: 1, .is_local = true };

	if (r->has_headers || !(e->packet.flags & PUSH))
		return;
	segment.address = address_of_segment(e);
	if (e->kind == RAW_PACKET_SEND) {
		describe_local(r, socket->object, &segment.address, e);
		send_segment(r, cpu, e, &segment, socket);
		return;
	}
	segment.address = swap_sides(&segment.address);
	receive_segment(r, cpu, e, segment, socket);
}

void replay_packet(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e)
{
	struct socket_address address;
	struct segment segment = { 0 };

	if (e->packet.object) {
		local_segment(r, cpu, e);
		return;
	}
	if (!read_segment(e, &address, &segment))
		return;
	r->has_headers = true;
	if (e->kind == RAW_PACKET_RECEIVE)
		address = swap_sides(&address);

	struct replay_socket *socket = socket_of(r, name_of(&address));

	socket->address = address;
	describe_socket(r, socket, e);
	if (e->kind == RAW_PACKET_SEND)
		send_segment(r, cpu, e, &segment, socket);
	else
		receive_segment(r, cpu, e, segment, socket);
}

/*
 * Whether the CPU still processes the segment: in its softirq, or in the same
 * thread, soon after, as the trace does not contain when that thread is done.
 */
static bool is_processing(const struct replay *r, const struct replay_cpu *cpu,
			  const struct raw_event *e)
{
	enum { SOON = 100 * 1000 }; /* ns */
	const struct segment *s = &cpu->segment;
	bool knows_softirqs = replay_has(r, REPLAY_BIT(RAW_SOFTIRQ_ENTRY));

	if (!s->tid || cpu->softirq || cpu->hardirq)
		return !s->tid && cpu->softirq;
	return cpu->tid == s->tid && cpu->thread && cpu->switched <= s->time &&
	       e->time - s->time <= SOON && (knows_softirqs || cpu->thread->kernel);
}

void replay_packet_received(struct replay *r, struct replay_cpu *cpu, uint32_t tid,
			    const struct raw_event *e)
{
	struct segment segment = cpu->segment;

	if (!segment.object || !is_processing(r, cpu, e))
		return;
	cpu->segment.object = 0;
	if (segment.is_local)
		describe_local(r, segment.object, &segment.address, e);
	make_message(r, tid, e,
		     &(struct record_message){ .object = segment.object,
					       .bytes = segment.bytes,
					       .position = segment.position,
					       .direction = MESSAGE_RECEIVE,
					       .object_kind = OBJECT_INET });
}
