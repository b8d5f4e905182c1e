/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * sendbuf - when bytes leave the send buffer that a send left there.
 *
 * A send returns once its bytes are in the buffer.  Most leave before it returns; the rest waits
 * for an acknowledgement (Nagle), a larger window, or a slow reader, and the client has no reply
 * until then.  TCP stores the time of its last segment (tcp_wstamp_ns).  Bytes that were held
 * leave when a segment of the peer arrives, and the next segment of the peer follows before this
 * side sends anything else: it acknowledges those bytes, or is the next request.  So at each
 * segment, before TCP processes it, check whether all held bytes have left: the last
 * segment's time is then the time at which they left.
 *
 * A connection that is closed is checked when its state changes, because tcp_probe is not called
 * any more.  If the peer never acknowledges, nothing is emitted.
 */
#ifndef SONDE_BPF_SENDBUF_BPF_H
#define SONDE_BPF_SENDBUF_BPF_H

#include "bpf/arrival.bpf.h"

/* Number of sockets that hold bytes; 0 most of the time, so that other segments cost little. */
__s64 holding;

/* Why TCP does not send the first of the bytes that are left; the order is that of its checks. */
static __always_inline enum held_reason held_reason(const struct tcp_sock *tcp)
{
	__u32 unsent = tcp->write_seq - tcp->snd_nxt;
	__u32 window = tcp->snd_una + tcp->snd_wnd - tcp->snd_nxt;
	__u32 mss = tcp->mss_cache;
	__u32 next = unsent < mss ? unsent : mss;

	if ((__s32)window < (__s32)next)
		return HELD_WINDOW;
	if (tcp->packets_out >= tcp->snd_cwnd)
		return HELD_CONGESTION;
	if (unsent >= mss)
		return HELD_UNKNOWN; /* the queue of the device is full, or pacing */

	bool no_delay = BPF_CORE_READ_BITFIELD(tcp, nonagle) & TCP_NAGLE_OFF;

	return tcp->packets_out && !no_delay ? HELD_NAGLE : HELD_CORK;
}

static __always_inline void emit_transmit(const struct held_bytes *held, __u64 left)
{
	struct wire_ring *ring = ring_of_cpu();
	__u64 now = bpf_ktime_get_ns();
	struct record_transmit *t = ring ? ring_reserve(ring, sizeof(*t), now) : NULL;

	if (!t)
		return;
	t->object = held->object;
	t->left = left < now ? left : now; /* paced segments have times in the future */
	t->position = held->position;
	t->object_kind = OBJECT_INET;
	t->reason = held->reason;
	ring_commit(&t->head, RECORD_TRANSMIT, 0, sizeof(*t));
}

static __always_inline void held_end(struct held_bytes *held)
{
	if (__sync_lock_test_and_set(&held->waiting, 0))
		__sync_fetch_and_add(&holding, -1);
}

/* A thread has sent; returns whether it left bytes in the buffer. */
static __always_inline bool held_after_send(struct traced_socket *s, const struct tcp_sock *tcp,
					    __u64 object)
{
	struct held_bytes *held = &s->held;
	__u32 position = tcp->write_seq;

	if (position == tcp->snd_nxt) {
		if (held->waiting && held->reason != HELD_CORK)
			emit_transmit(held, tcp->tcp_wstamp_ns);
		held_end(held);
		return false;
	}
	held->object = object;
	held->position = position;
	if (!held->waiting)
		held->reason = held_reason(tcp);
	if (!__sync_lock_test_and_set(&held->waiting, 1))
		__sync_fetch_and_add(&holding, 1);
	return true;
}

/* A reader that is slow fills its window only after some time, so the reason can change. */
static __always_inline void held_update_reason(struct held_bytes *held, const struct tcp_sock *tcp)
{
	enum held_reason reason = held_reason(tcp);

	if (held->reason == HELD_UNKNOWN || reason == HELD_WINDOW)
		held->reason = reason;
}

static __always_inline void held_check(struct sock *sk)
{
	struct traced_socket *s = bpf_sk_storage_get(&sockets, sk, 0, 0);
	struct tcp_sock *tcp = s && s->held.waiting ? bpf_skc_to_tcp_sock(sk) : NULL;

	if (!tcp)
		return;
	if ((__s32)(s->held.position - tcp->snd_nxt) > 0) {
		held_update_reason(&s->held, tcp);
		return;
	}
	emit_transmit(&s->held, tcp->tcp_wstamp_ns);
	held_end(&s->held);
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(on_tcp_segment, struct sock *sk)
{
	if (holding && active)
		held_check(sk);
	return 0;
}

/* The connection is closed: bytes that have not left never will. */
static __always_inline void held_forget(struct sock *sk)
{
	struct traced_socket *s = bpf_sk_storage_get(&sockets, sk, 0, 0);

	if (s)
		held_end(&s->held);
}

#endif
