/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * arrival - when the bytes that a thread receives arrived at the socket.
 *
 * A blocked event loop leaves requests in the socket's buffer.  The kernel calls
 * sk_data_ready for each segment, datagram or unix message that it queues; the last few
 * calls are stored with the socket, each with the position in the stream up to which
 * bytes had arrived.  A receive takes the time of its first byte and removes what it has
 * read, so bytes that it leaves behind keep their own time, as do pipelined requests.
 * If more than ARRIVALS segments are unread, the last element stands for all further ones.
 *
 * TCP counts bytes, and calls sk_data_ready under the lock that a receive also takes.
 * For other sockets, positions count sk_data_ready calls, and the length of the receive
 * queue gives the number that is unread.  Their reader can overtake the call; the next
 * call then removes the element.
 *
 * Programs on several CPUs access an element without a lock.  The worst result is an
 * arrival that is lost, which is unknown to readers of the capture.
 *
 * Only sockets in scope have storage: from the first message on, and accepted TCP sockets from
 * the handshake on.  Data for a socket that was not accepted yet creates it in any case, because
 * the process that will accept the connection is unknown.
 */
#ifndef SONDE_BPF_ARRIVAL_BPF_H
#define SONDE_BPF_ARRIVAL_BPF_H

#include "bpf/kernel.h"
#include "bpf/ring.bpf.h"

enum { ARRIVALS = 8 }; /* a power of two */

struct arrivals {
	__u64 times[ARRIVALS];
	__u32 ends[ARRIVALS];  /* position after the bytes that arrived then */
	__u32 added, removed;  /* number of elements; element n is at n % ARRIVALS */
	__u32 calls;           /* not TCP: number of sk_data_ready calls */
	__u8 queued[ARRIVALS]; /* whether the connection was not accepted yet */
};

/* Bytes that a send left in the send buffer (sendbuf.bpf.h). */
struct held_bytes {
	__u64 object;   /* the socket */
	__u32 position; /* sequence number after the last of them */
	__u32 waiting;  /* whether there are any */
	__u32 reason;   /* enum held_reason */
};

struct traced_socket {
	struct arrivals arrivals;
	struct held_bytes held;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct traced_socket);
} sockets SEC(".maps");

static __always_inline struct traced_socket *socket_begin(struct sock *sk)
{
	return bpf_sk_storage_get(&sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
}

/* The number of datagrams or unix messages that are unread, including a partly read one. */
static __always_inline __u32 unread_count(struct sock *sk)
{
	__u32 count = sk->sk_receive_queue.qlen;

	/* UDP moves all queued datagrams at once to a queue of the reader */
	if (sk->sk_protocol == IPPROTO_UDP && sk->__sk_common.skc_family != AF_UNIX)
		count += BPF_CORE_READ((struct udp_sock *)sk, reader_queue.qlen);
	return count;
}

static __always_inline void arrivals_remove_until(struct arrivals *a, __u32 read)
{
	for (int i = 0; i < ARRIVALS; i++) {
		if (a->removed == a->added || (__s32)(a->ends[a->removed % ARRIVALS] - read) > 0)
			return;
		a->removed++;
	}
}

static __always_inline void arrivals_add(struct arrivals *a, __u32 end, bool queued)
{
	__u32 last = (a->added - 1) % ARRIVALS, next = a->added % ARRIVALS;
	__u32 unread = a->added - a->removed;

	if (unread >= ARRIVALS) {
		a->ends[last] = end;
	} else if (!unread || a->ends[last] != end) {
		a->times[next] = bpf_ktime_get_ns();
		a->ends[next] = end;
		a->queued[next] = queued;
		a->added++;
	}
}

/* When the first of the bytes that a thread has just received arrived; 0 if unknown. */
static __always_inline __u64 arrivals_take(struct arrivals *a, struct sock *sk,
					   const struct tcp_sock *tcp, __u32 bytes,
					   bool *ret_queued)
{
	__u32 read = tcp ? tcp->copied_seq : a->calls - unread_count(sk);

	if (tcp) /* bytes that other calls, such as splice(), have read */
		arrivals_remove_until(a, read - bytes);

	__u32 first = a->removed % ARRIVALS;
	__u64 time = a->removed != a->added ? a->times[first] : 0;

	*ret_queued = time && a->queued[first];
	arrivals_remove_until(a, read);
	return time;
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(on_data_ready, struct sock *sk)
{
	if (!active)
		return 0;

	bool queued = !sk->sk_socket; /* its connection is not accepted yet */
	struct traced_socket *s =
		queued ? socket_begin(sk) : bpf_sk_storage_get(&sockets, sk, 0, 0);

	if (!s)
		return 0;

	struct arrivals *a = &s->arrivals;
	struct tcp_sock *tcp = sk->sk_protocol == IPPROTO_TCP ? bpf_skc_to_tcp_sock(sk) : NULL;

	if (tcp) {
		arrivals_remove_until(a, tcp->copied_seq);
		arrivals_add(a, tcp->rcv_nxt, queued);
	} else {
		a->calls++;
		arrivals_remove_until(a, a->calls - unread_count(sk));
		if (unread_count(sk))
			arrivals_add(a, a->calls, queued);
	}
	return 0;
}

#endif
