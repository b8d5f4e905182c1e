/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * stack - kernel and user stacks of threads.
 *
 * A user stack can be unwound only while its thread is current, when the duration
 * of the wait is still unknown.  So with --stacks, the user stack is saved at
 * each blocking switch-out.  It is recorded only if the wait turns out to be long,
 * together with the kernel stack, which can be unwound at any time.
 */
#ifndef SONDE_BPF_STACK_BPF_H
#define SONDE_BPF_STACK_BPF_H

#include "bpf/thread.bpf.h"

struct user_stack {
	__s64 bytes; /* or a negative errno */
	__u64 frames[WIRE_USER_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct user_stack);
} user_stacks SEC(".maps");

static __always_inline void user_stack_save(void *ctx, struct task_struct *task)
{
	struct user_stack *s =
		bpf_task_storage_get(&user_stacks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (s)
		s->bytes = bpf_get_stack(ctx, s->frames, sizeof(s->frames), BPF_F_USER_STACK);
}

static __always_inline __u16 frame_count(long bytes)
{
	return bytes > 0 ? bytes / 8 : 0;
}

static __always_inline __u32 stack_commit(struct wire_stack *s, struct task_struct *task)
{
	__u32 number = __sync_fetch_and_add(&stack_last, 1) + 1;

	s->stack = number;
	s->pid = task->tgid;
	ring_commit(&s->head, RECORD_STACK, task->pid, sizeof(*s));
	return number;
}

/* Record the stack of a blocked thread; returns its number, or 0. */
static __always_inline __u32 stack_of_sleeper(struct wire_ring *ring, struct task_struct *task,
					      __u64 now)
{
	struct user_stack *user = bpf_task_storage_get(&user_stacks, task, 0, 0);
	struct wire_stack *s = ring_reserve(ring, sizeof(*s), now);

	if (!s)
		return 0;
	s->kernel_count = frame_count(bpf_get_task_stack(task, s->kernel, sizeof(s->kernel), 0));
	if (user) {
		s->user_count = frame_count(user->bytes);
		bpf_probe_read_kernel(s->user, sizeof(s->user), user->frames);
	}
	return stack_commit(s, task);
}

/* At a tracepoint, the innermost frames are the BPF program and its caller. */
#define OWN_FRAMES 2

/* Record the stack of the current thread, without innermost frames; returns its number, or 0. */
static __always_inline __u32 stack_of_current(void *ctx, struct wire_ring *ring, __u32 skipped,
					      __u64 now)
{
	struct wire_stack *s = ring_reserve(ring, sizeof(*s), now);

	if (!s)
		return 0;
	s->kernel_count = frame_count(bpf_get_stack(ctx, s->kernel, sizeof(s->kernel), skipped));
	s->user_count = frame_count(bpf_get_stack(ctx, s->user, sizeof(s->user), BPF_F_USER_STACK));
	return stack_commit(s, bpf_get_current_task_btf());
}

#endif
