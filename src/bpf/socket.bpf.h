/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * socket - messages that threads send and receive, and TCP connection states.
 *
 * A message is identified by its socket and, for TCP, its position in the stream,
 * so that each receive can be matched with its sends.  The payload is not read.
 */
#ifndef SONDE_BPF_SOCKET_BPF_H
#define SONDE_BPF_SOCKET_BPF_H

#include "bpf/arrival.bpf.h"
#include "bpf/irq.bpf.h"
#include "bpf/object.bpf.h"
#include "bpf/sendbuf.bpf.h"

/* Local ports of connections in scope, because states also change in interrupts. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u16);
	__type(value, __u8);
} known_ports SEC(".maps");

/*
 * The position in the stream at which a message ends.  TCP counts the FIN as one
 * byte once the receiver has reached it, but it is not part of a message.
 */
static __always_inline __u32 stream_position(const struct sock *sk, const struct tcp_sock *tcp,
					     enum direction direction)
{
	if (direction == MESSAGE_SEND)
		return tcp->write_seq;

	__u8 state = sk->__sk_common.skc_state;
	bool ended = state != TCP_ESTABLISHED && state != TCP_FIN_WAIT1 && state != TCP_FIN_WAIT2;

	return tcp->copied_seq - (ended && tcp->copied_seq == tcp->rcv_nxt);
}

/*
 * The time since the last segment was sent, ns.  The bytes of this message left with
 * that segment or are still queued.
 */
static __always_inline __u32 send_lag(const struct tcp_sock *tcp, __u64 now)
{
	if (!bpf_core_field_exists(tcp->tcp_wstamp_ns))
		return 0;

	__u64 left = tcp->tcp_wstamp_ns;

	return left < now && now - left <= 0xffffffff ? now - left : 0;
}

static __always_inline void message_set_arrival(struct record_message *m, struct sock *sk,
						const struct tcp_sock *tcp, __u64 now)
{
	struct traced_socket *s = socket_begin(sk);

	if (!s)
		return;

	bool queued;
	__u64 time = arrivals_take(&s->arrivals, sk, tcp, m->bytes, &queued);
	__u64 lag = time && time < now ? now - time : 0;

	if (lag >= 1ull << 40)
		return;
	m->lag = lag;
	m->lag_high = lag >> 32;
	m->flags = queued ? MESSAGE_BEFORE_ACCEPT : 0;
}

static __always_inline void message_set_send(struct record_message *m, struct sock *sk,
					     const struct tcp_sock *tcp, __u64 now)
{
	struct traced_socket *s = socket_begin(sk);

	m->lag = send_lag(tcp, now);
	if (s && bpf_core_field_exists(tcp->tcp_wstamp_ns) && held_after_send(s, tcp, m->object))
		m->flags = MESSAGE_HELD;
}

static __always_inline void emit_message(struct sock *sk, int bytes, enum direction direction)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (bytes <= 0 || !active || !thread_of(task))
		return;

	struct wire_ring *ring = ring_of_cpu();

	if (!ring)
		return;

	__u64 now = bpf_ktime_get_ns();
	__u64 object = sk->sk_socket->file->f_inode->i_ino;

	socket_report(sk, object, sk->__sk_common.skc_num, sk->__sk_common.skc_dport, now);

	struct record_message *m = ring_reserve(ring, sizeof(*m), now);

	if (!m)
		return;
	m->object = object;
	m->object_kind = socket_kind(sk->__sk_common.skc_family);
	m->direction = direction;
	m->bytes = bytes;

	struct tcp_sock *tcp = sk->sk_protocol == IPPROTO_TCP ? bpf_skc_to_tcp_sock(sk) : NULL;

	if (tcp)
		m->position = stream_position(sk, tcp, direction);
	if (direction == MESSAGE_RECEIVE)
		message_set_arrival(m, sk, tcp, now);
	else if (tcp)
		message_set_send(m, sk, tcp, now);
	ring_commit(&m->head, RECORD_MESSAGE, task->pid, sizeof(*m));
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(on_send, struct sock *sk, int result)
{
	emit_message(sk, result, MESSAGE_SEND);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_receive, struct sock *sk, int result, int flags)
{
	if (!(flags & MSG_PEEK)) /* peeked bytes are received again later */
		emit_message(sk, result, MESSAGE_RECEIVE);
	return 0;
}

static __always_inline bool port_is_wanted(__u16 port)
{
	for (int i = 0; i < WIRE_PORTS; i++)
		if (scope_ports[i] && scope_ports[i] == port)
			return true;
	return false;
}

/* Whether the connection is in scope; the state can change in an interrupt of any thread. */
static __always_inline bool connection_in_scope(__u16 port, int to, const struct wire_cpu *cpu)
{
	__u8 yes = 1;
	bool ours = !in_softirq(cpu) && !cpu->hardirq && !cpu->hrtimer && thread_current();

	if (ours && (to == TCP_LISTEN || to == TCP_SYN_SENT))
		bpf_map_update_elem(&known_ports, &port, &yes, BPF_ANY);
	return scope_all || ours || bpf_map_lookup_elem(&known_ports, &port);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_socket_state, struct sock *sk, int from, int to)
{
	struct wire_ring *ring = ring_of_cpu();

	if (!ring || !active || sk->sk_protocol != IPPROTO_TCP)
		return 0;

	__u16 port = sk->__sk_common.skc_num;

	if (holding)
		held_check(sk);
	if (holding && to == TCP_CLOSE)
		held_forget(sk);
	if (to == TCP_LISTEN && port_is_wanted(port))
		scope_join(bpf_get_current_pid_tgid() >> 32);
	if (!connection_in_scope(port, to, &ring->cpu))
		return 0;
	if (from == TCP_SYN_RECV && to == TCP_ESTABLISHED)
		socket_begin(sk);

	struct record_socket_state *s = ring_reserve(ring, sizeof(*s), bpf_ktime_get_ns());

	if (!s)
		return 0;
	s->object = socket_inode(sk->sk_socket);
	address_of(sk, &s->address);
	s->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	s->from = from;
	s->to = to;
	ring_commit(&s->head, RECORD_SOCKET_STATE, bpf_get_current_pid_tgid(), sizeof(*s));
	return 0;
}

#endif
