/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * demand - optional events: system calls, block I/O, user-chosen tracepoints,
 * and profile samples.
 */
#ifndef SONDE_BPF_DEMAND_BPF_H
#define SONDE_BPF_DEMAND_BPF_H

#include "bpf/object.bpf.h"
#include "bpf/stack.bpf.h"

/* --syscalls: bit set of the system calls to record. */
const volatile __u64 syscalls_wanted[SYSCALL_TABLE_SIZE / 64];

/* on_demand: the processes that have their system calls recorded. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WIRE_SYSCALL_PIDS);
	__type(key, __u32);
	__type(value, __u8);
} syscall_pids SEC(".maps");

/* on_demand: all processes in scope have. */
bool syscalls_of_all;

/* on_demand: calls that began earlier, while the programs were attached before, are ignored. */
__u64 syscalls_since;

static __always_inline bool syscall_is_wanted(long nr)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	if (on_demand && !syscalls_of_all && !bpf_map_lookup_elem(&syscall_pids, &pid))
		return false;
	return nr >= 0 && nr < SYSCALL_TABLE_SIZE && syscalls_wanted[nr / 64] >> (nr % 64) & 1;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_syscall_entry, struct pt_regs *regs, long nr)
{
	struct traced_thread *thread = thread_current();

	if (!thread || !active || !syscall_is_wanted(nr))
		return 0;
	thread->syscall_nr = nr;
	thread->syscall_args[0] = regs->di;
	thread->syscall_args[1] = regs->si;
	thread->syscall_args[2] = regs->dx;
	thread->syscall_start = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void emit_syscall(struct wire_ring *ring, struct traced_thread *thread,
					 long result, __u8 flags, __u64 now)
{
	struct record_syscall *s = ring_reserve(ring, sizeof(*s), now);

	if (!s)
		return;
	s->start = thread->syscall_start;
	s->nr = thread->syscall_nr;
	s->args[0] = thread->syscall_args[0];
	s->args[1] = thread->syscall_args[1];
	s->args[2] = thread->syscall_args[2];
	s->result = result;
	s->flags = flags;
	ring_commit(&s->head, RECORD_SYSCALL, thread->tid, sizeof(*s));
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_syscall_exit, struct pt_regs *regs, long result)
{
	struct traced_thread *thread = thread_current();

	if (!thread || !thread->syscall_start)
		return 0;

	struct wire_ring *ring = ring_of_cpu();

	if (ring && active && thread->syscall_start >= syscalls_since)
		emit_syscall(ring, thread, result, 0, bpf_ktime_get_ns());
	thread->syscall_start = 0;
	return 0;
}

/* At the end of the recording, emit the system calls that have not returned. */
SEC("iter/task")
int finish_syscalls(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct wire_ring *ring = ring_of_cpu();

	if (!task || !ring)
		return 0;

	struct traced_thread *thread = thread_of(task);

	if (thread && thread->tid && thread->syscall_start &&
	    thread->syscall_start >= syscalls_since)
		emit_syscall(ring, thread, 0, SYSCALL_OPEN, stop_time);
	return 0;
}

/* Block I/O in flight, by the address of the kernel's struct request. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct record_block);
} block_ios SEC(".maps");

static __always_inline char block_op(__u32 cmd_flags)
{
	switch (cmd_flags & 0xff) {
	case 0:
		return 'R';
	case 1:
		return 'W';
	case 2:
		return 'F';
	case 3:
	case 9:
		return 'D';
	default:
		return '?';
	}
}

/* If the device queue is full, a kernel worker issues the I/O later; save the originating thread.
 */
SEC("tp_btf/block_rq_insert")
int BPF_PROG(on_block_insert, struct request *rq)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct record_block b = { .head.tid = task->pid, .sector = rq->__sector };
	__u64 key = (__u64)rq;

	if (active)
		bpf_map_update_elem(&block_ios, &key, &b, BPF_ANY);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_block_issue, struct request *rq)
{
	__u32 tid = bpf_get_current_pid_tgid();
	__u64 key = (__u64)rq;
	struct record_block *inserted = bpf_map_lookup_elem(&block_ios, &key);
	struct record_block b = {
		.start = bpf_ktime_get_ns(),
		.sector = rq->__sector,
		.bytes = rq->__data_len,
		.op = block_op(rq->cmd_flags),
	};

	if (!active)
		return 0;
	/* after a merge, the kernel can reuse the struct request for other sectors */
	b.head.tid = inserted && inserted->sector == b.sector ? inserted->head.tid : tid;
	b.device = rq->q->disk->major << 20 | rq->q->disk->first_minor;
	bpf_map_update_elem(&block_ios, &key, &b, BPF_ANY);
	return 0;
}

/* Block I/O can complete in parts; only the last one leaves no bytes. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_block_complete, struct request *rq, __u32 status, unsigned int bytes)
{
	__u64 key = (__u64)rq;
	struct record_block *issued = bpf_map_lookup_elem(&block_ios, &key);
	struct wire_ring *ring = ring_of_cpu();

	if (!issued || !ring || !active || bytes < rq->__data_len)
		return 0;

	__u64 now = bpf_ktime_get_ns();
	struct record_block *b = ring_reserve(ring, sizeof(*b), now);

	if (b) {
		b->start = issued->start;
		b->sector = issued->sector;
		b->bytes = issued->bytes;
		b->device = issued->device;
		b->op = issued->op;
		b->error = (__u8)status;
		ring_commit(&b->head, RECORD_BLOCK, issued->head.tid, sizeof(*b));
	}
	bpf_map_delete_elem(&block_ios, &key);
	return 0;
}

/* -e: number of bytes to record of each probe event, by probe type. */
const volatile __u16 probe_sizes[WIRE_PROBES];

SEC("tp")
int on_probe_event(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!active || !thread_of(task))
		return 0;

	struct wire_ring *ring = ring_of_cpu();
	__u64 type = bpf_get_attach_cookie(ctx);

	if (!ring || type >= WIRE_PROBES)
		return 0;

	struct wire_probe_event *h = ring_reserve(ring, sizeof(*h), bpf_ktime_get_ns());

	if (!h)
		return 0;
	h->type = type;
	h->size = probe_sizes[type];
	bpf_probe_read_kernel(h->data, probe_sizes[type] & (WIRE_PROBE_DATA - 1), ctx);
	ring_commit(&h->head, RECORD_PROBE_EVENT, task->pid, sizeof(*h));
	return 0;
}

SEC("perf_event")
int on_sample(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct wire_ring *ring = ring_of_cpu();

	if (!ring || !active || task->pid == 0)
		return 0;
	ring->sampled++;
	if (!thread_of(task))
		return 0;

	__u64 now = bpf_ktime_get_ns();
	__u32 stack = stack_of_current(ctx, ring, 0, now);
	struct record_sample *s = ring_reserve(ring, sizeof(*s), now);

	if (!s)
		return 0;
	s->stack = stack;
	ring_commit(&s->head, RECORD_SAMPLE, task->pid, sizeof(*s));
	return 0;
}

#endif
