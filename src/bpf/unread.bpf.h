/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * unread - bytes that arrived at a socket and wait for a reader.
 *
 * A message is recorded when it is read.  A server that hangs reads nothing, so without this a
 * stream would show nothing of the requests that wait for it.
 */
#ifndef SONDE_BPF_UNREAD_BPF_H
#define SONDE_BPF_UNREAD_BPF_H

#include "bpf/socket.bpf.h"

#define UNREAD_MIN 100000000ull /* ns; earlier, the reader may just be about to run */

/* When the first byte after the position `read` arrived; 0 if unknown.  Changes nothing, as it does
 * not have the lock of the socket. */
static __always_inline __u64 arrivals_oldest(const struct arrivals *a, __u32 read)
{
	__u32 at = a->removed, added = a->added;

	for (int i = 0; i < ARRIVALS && at != added; i++, at++)
		if ((__s32)(a->ends[at % ARRIVALS] - read) > 0)
			return a->times[at % ARRIVALS];
	return 0;
}

/* Whether a connection that was not accepted yet is to a port in scope. */
static __always_inline bool queued_in_scope(const struct sock *sk)
{
	__u16 port = sk->__sk_common.skc_num;

	return sk->__sk_common.skc_state == TCP_ESTABLISHED &&
	       (scope_all || bpf_map_lookup_elem(&known_ports, &port));
}

/* Runs for each socket with storage, which are those in scope and those not accepted yet. */
SEC("iter/bpf_sk_storage_map")
int find_unread(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;

	if (!sk || !active)
		return 0;

	/* as ctx->value, but with variable offsets */
	struct traced_socket *s = bpf_sk_storage_get(&sockets, sk, 0, 0);

	if (!s || (!sk->sk_socket && !queued_in_scope(sk)))
		return 0;

	const struct arrivals *a = &s->arrivals;
	struct tcp_sock *tcp = sk->sk_protocol == IPPROTO_TCP ? bpf_skc_to_tcp_sock(sk) : NULL;
	__u32 unread = tcp ? tcp->rcv_nxt - tcp->copied_seq : unread_count(sk);
	__u64 now = bpf_ktime_get_ns();

	__u64 arrived = arrivals_oldest(a, tcp ? tcp->copied_seq : a->calls - unread);
	struct wire_ring *ring = ring_of_cpu();

	if (!ring || !unread || !arrived || now - arrived < UNREAD_MIN || now > stop_time)
		return 0;

	struct record_unread *u = ring_reserve(ring, sizeof(*u), now);

	if (!u)
		return 0;
	u->object = socket_inode(sk->sk_socket);
	u->arrived = arrived;
	u->bytes = unread;
	address_of(sk, &u->address);
	u->netns = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	ring_commit(&u->head, RECORD_UNREAD, 0, sizeof(*u));
	return 0;
}

#endif
