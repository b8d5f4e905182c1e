/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* ring - the writing side of the per-CPU rings of wire.h. */
#ifndef SONDE_BPF_RING_BPF_H
#define SONDE_BPF_RING_BPF_H

#include "bpf/wire.h"

/* Programs that interrupt each other between check and reservation can exceed the ring by this. */
#define RING_SLACK (4 * WIRE_RECORD_MAX)

const volatile __u32 ring_size; /* a power of two */

bool active; /* set by the recorder while all programs are attached */

__u64 stop_time = ~0ull; /* end of the recording and of all open intervals, ns */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct wire_ring) + WIRE_RING_MIN + WIRE_RECORD_MAX);
} rings SEC(".maps");

static __always_inline struct wire_ring *ring_of_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

static __always_inline bool ring_has_room(const struct wire_ring *ring, __u32 size)
{
	__u64 head = *(volatile __u64 *)&ring->head;
	__u64 tail = *(volatile __u64 *)&ring->tail;

	return head + size - tail <= ring_size - RING_SLACK;
}

static __always_inline void *ring_take(struct wire_ring *ring, __u32 size)
{
	__u64 at = __sync_fetch_and_add(&ring->head, size);

	return ring->data + (at & (ring_size - 1));
}

/* Commit a record by writing its second word, in a single store after all others. */
static __always_inline void ring_commit_on(struct record *record, __u16 cpu, enum record_kind kind,
					   __u32 tid, __u32 size)
{
	__u64 word = (__u64)(size / 8) << 56 | (__u64)kind << 48 | (__u64)cpu << 32 | tid;

	barrier();
	((volatile __u64 *)record)[1] = word;
}

static __always_inline void ring_commit(struct record *record, enum record_kind kind, __u32 tid,
					__u32 size)
{
	ring_commit_on(record, bpf_get_smp_processor_id(), kind, tid, size);
}

static __always_inline void ring_count_loss(struct wire_ring *ring, __u64 now)
{
	/* hidden slices are reported later, so losses are not ordered by time */
	if (!ring->lost_first || now < ring->lost_first)
		ring->lost_first = now;
	if (now > ring->lost_last)
		ring->lost_last = now;
	__sync_fetch_and_add(&ring->lost, 1);
}

/* A LOSS record precedes the first record after a loss. */
static __always_inline void ring_report_loss(struct wire_ring *ring, __u64 now)
{
	struct record_loss *loss = ring_take(ring, sizeof(*loss));

	loss->head.time = now;
	loss->start = ring->lost_first;
	loss->end = ring->lost_last;
	ring->lost_first = ring->lost_last = 0;
	loss->count = __sync_lock_test_and_set(&ring->lost, 0);
	ring_commit(&loss->head, RECORD_LOSS, 0, sizeof(*loss));
}

/* Reserve a zeroed record of `size` bytes, a multiple of 8; counts a loss and returns NULL if full.
 */
static __always_inline void *ring_reserve(struct wire_ring *ring, __u32 size, __u64 now)
{
	if (now > stop_time)
		return NULL;
	if (!ring_has_room(ring, size + sizeof(struct record_loss))) {
		ring_count_loss(ring, now);
		return NULL;
	}
	if (ring->lost)
		ring_report_loss(ring, now);

	struct record *record = ring_take(ring, size);

	record->time = now;
	return record;
}

#endif
