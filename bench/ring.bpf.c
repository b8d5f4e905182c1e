/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Transports of a record from a BPF program to user space, on the same event: a
 * BPF ring buffer that all CPUs share, one per CPU, and our own rings in an array
 * that user space maps.
 *
 * Our own ring needs no lock.  Only programs of its CPU write to it, but one can
 * interrupt another, so an atomic add reserves the space.  The check for free
 * space comes before, and leaves RING_SLACK free for programs that interrupt in
 * between.  A record near the end extends into the slack after the ring.  There
 * are two ways to publish records to the reader:
 *
 * marked: a record is complete once its second word is set, and the reader clears
 * what it has read, so each cache line moves in both directions.
 *
 * counted: the programs add up the bytes written.  When the sum reaches the head,
 * no program is in the middle of a record, so everything before the head is
 * complete, and the head is published.  A program that is interrupted before it
 * publishes can set `ready` back; that delays the reader, but is never wrong, and
 * the next record corrects it.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "ring.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u32 cfg_process;
const volatile __u64 cfg_syscall;
const volatile __u32 cfg_words = 4; /* words of 8 bytes per record */
const volatile __u32 cfg_batch = 1; /* records per event */
const volatile __u64 cfg_mask;      /* of a position in a mapped ring */

struct ring_loss lost[RING_CPU_MAX];

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set by ring.c */
} shared SEC(".maps");

struct inner {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, RING_CPU_MAX);
	__type(key, __u32);
	__array(values, struct inner);
} per_cpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct mapped_ring) + RING_SLACK);
} mapped SEC(".maps");

static __always_inline int wanted(__u64 *ctx)
{
	return ctx[1] == cfg_syscall && bpf_get_current_pid_tgid() >> 32 == cfg_process;
}

static __always_inline void lose(__u32 cpu)
{
	__sync_fetch_and_add(&lost[cpu % RING_CPU_MAX].count, 1);
}

static __always_inline void fill(struct ring_record *r)
{
	r->time = bpf_ktime_get_ns();
	for (__u32 i = 0; i < cfg_words - 2; i++)
		r->body[i] = r->time + i;
}

/* The helper requires a size that is constant when the program is loaded. */
static __always_inline struct ring_record *reserve(void *ring)
{
	return cfg_words == 4 ? bpf_ringbuf_reserve(ring, 32, 0) : bpf_ringbuf_reserve(ring, 64, 0);
}

static __always_inline void put(void *ring, __u32 cpu)
{
	struct ring_record *r = reserve(ring);
	if (!r) {
		lose(cpu);
		return;
	}
	fill(r);
	r->commit = cfg_words;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

static __always_inline struct ring_record *take(struct mapped_ring *ring, __u32 cpu)
{
	__u32 size = 8 * cfg_words;

	if (ring->head + size - ring->tail > cfg_mask + 8 - RING_SLACK) {
		lose(cpu);
		return NULL;
	}
	return (void *)(ring->data + (__sync_fetch_and_add(&ring->head, size) & cfg_mask));
}

static __always_inline void put_marked(struct mapped_ring *ring, __u32 cpu)
{
	struct ring_record *r = take(ring, cpu);
	if (!r)
		return;
	fill(r);
	barrier();
	*(volatile __u64 *)&r->commit = cfg_words;
}

static __always_inline void put_counted(struct mapped_ring *ring, __u32 cpu)
{
	struct ring_record *r = take(ring, cpu);
	if (!r)
		return;
	fill(r);
	r->commit = cfg_words;
	__u64 done = __sync_fetch_and_add(&ring->done, 8 * cfg_words) + 8 * cfg_words;
	if (done == *(volatile __u64 *)&ring->head)
		*(volatile __u64 *)&ring->ready = done;
}

SEC("tp_btf/sys_enter")
int only_filter(__u64 *ctx)
{
	if (wanted(ctx))
		bpf_get_smp_processor_id();
	return 0;
}

SEC("tp_btf/sys_enter")
int to_shared(__u64 *ctx)
{
	if (!wanted(ctx))
		return 0;
	__u32 cpu = bpf_get_smp_processor_id();
	for (__u32 i = 0; i < cfg_batch; i++)
		put(&shared, cpu);
	return 0;
}

SEC("tp_btf/sys_enter")
int to_per_cpu(__u64 *ctx)
{
	if (!wanted(ctx))
		return 0;
	__u32 cpu = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&per_cpu, &cpu);
	for (__u32 i = 0; ring && i < cfg_batch; i++)
		put(ring, cpu);
	return 0;
}

SEC("tp_btf/sys_enter")
int to_marked(__u64 *ctx)
{
	if (!wanted(ctx))
		return 0;
	__u32 cpu = bpf_get_smp_processor_id();
	struct mapped_ring *ring = bpf_map_lookup_elem(&mapped, &cpu);
	for (__u32 i = 0; ring && i < cfg_batch; i++)
		put_marked(ring, cpu);
	return 0;
}

SEC("tp_btf/sys_enter")
int to_counted(__u64 *ctx)
{
	if (!wanted(ctx))
		return 0;
	__u32 cpu = bpf_get_smp_processor_id();
	struct mapped_ring *ring = bpf_map_lookup_elem(&mapped, &cpu);
	for (__u32 i = 0; ring && i < cfg_batch; i++)
		put_counted(ring, cpu);
	return 0;
}
