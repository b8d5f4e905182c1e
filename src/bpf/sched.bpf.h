/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * sched - scheduling: which thread is on a CPU, which waits, and what wakes it.
 *
 * These programs run at every context switch of the host, so they account for
 * most of the overhead of sonde.  One clock reading serves both sides of a switch,
 * and an out-of-scope task costs one compact record, or none.
 *
 * The rules are in event/thread_state.h and event/wakeup.h, which the replay of
 * foreign traces shares.  This file reads the kernel's data and emits records.
 */
#ifndef SONDE_BPF_SCHED_BPF_H
#define SONDE_BPF_SCHED_BPF_H

#include "bpf/context.bpf.h"
#include "bpf/irq.bpf.h"
#include "bpf/object.bpf.h"
#include "bpf/stack.bpf.h"

/* Whether a preempted thread lost the CPU because its cgroup has used up its quota. */
static __always_inline bool is_throttled(struct task_struct *task)
{
	struct task_struct___throttled *t = (void *)task;

	if (bpf_core_field_exists(t->throttled))
		return BPF_CORE_READ(t, throttled);
	if (bpf_core_field_exists(task->se.cfs_rq) &&
	    bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count))
		return BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0;
	return false;
}

static __always_inline void emit_run(struct wire_ring *ring, __u32 tid, __u64 start, __u8 flags,
				     __u64 now)
{
	struct record_run *run = ring_reserve(ring, sizeof(*run), now);

	if (!run)
		return;
	run->start = start;
	run->irq = ring->cpu.irq;
	run->flags = flags;
	ring_commit(&run->head, RECORD_RUN, tid, sizeof(*run));
}

static __always_inline void emit_exit(struct wire_ring *ring, struct task_struct *task, __u32 tid,
				      __u64 now)
{
	struct record_exit *e = ring_reserve(ring, sizeof(*e), now);

	if (!e)
		return;
	e->pid = task->tgid;
	e->code = task->exit_code;
	ring_commit(&e->head, RECORD_EXIT, tid, sizeof(*e));
}

/* flags: INTERVAL_OPEN if the recording ends before the wait, or INTERVAL_END_HIDDEN. */
static __always_inline void emit_wait(struct wire_ring *ring, struct traced_thread *thread,
				      struct task_struct *task, __u64 now, __u8 flags)
{
	struct wait_site site = { .syscall = SYSCALL_NONE };
	enum phase phase = thread->state.phase;
	__u32 stack = 0;

	if (phase == PHASE_UNKNOWN) /* still where it was when it was discovered */
		site_save(thread, task, task->__state);
	if (phase == PHASE_BLOCKED || phase == PHASE_UNKNOWN)
		site_of(thread, task, &site, now);
	if (stack_limit() && phase == PHASE_BLOCKED && !(flags & INTERVAL_END_HIDDEN) &&
	    now - thread->state.since >= stack_limit())
		stack = stack_of_sleeper(ring, task, now);

	struct record_wait *wait = ring_reserve(ring, sizeof(*wait), now);

	if (!wait)
		return;
	thread_state_fill_wait(&thread->state, now, &site, flags & INTERVAL_OPEN, wait);
	wait->flags |= flags;
	wait->stack = stack;
	wait->waker_stack = thread->waker_stack;
	ring_commit(&wait->head, RECORD_WAIT, thread->tid, sizeof(*wait));
}

/*
 * The time at which the outgoing thread got the CPU.  On some virtual machines,
 * sched_switch is not traced when a thread of the guest agent is switched out.
 * The outgoing thread is then not the one that the last event switched in, and
 * the scheduler's run time gives the length of its slice.
 */
static __always_inline __u64 slice_begin(const struct wire_cpu *cpu, struct task_struct *task,
					 __u64 now)
{
	__u64 ran = task->se.sum_exec_runtime - task->se.prev_sum_exec_runtime;

	if (cpu->tid == task->pid || ran > now - cpu->switched)
		return cpu->switched;
	return now - ran;
}

/* The thread leaves a CPU that it got in a hidden switch. */
static __always_inline void enter_hidden(struct wire_ring *ring, struct traced_thread *thread,
					 struct task_struct *task, __u64 begin)
{
	begin = thread_state_hidden_switch_in(&thread->state, begin);
	emit_wait(ring, thread, task, begin, INTERVAL_END_HIDDEN);
	thread->waker_stack = 0;
	thread_state_enter_cpu(&thread->state, begin);
}

static __always_inline void leave_cpu(void *ctx, struct wire_ring *ring, struct task_struct *task,
				      bool preempt, __u64 now)
{
	struct traced_thread *thread = thread_of(task);
	__u64 begin = slice_begin(&ring->cpu, task, now);

	if (!thread) {
		if (!records_other_tasks() || !task->pid || !ring->cpu.switched)
			return;
		task_describe_other(ring, task, now);
		emit_run(ring, task->pid, begin, INTERVAL_OUT_OF_SCOPE, now);
		return;
	}
	if (thread_state_missed_switch_in(&thread->state, begin))
		enter_hidden(ring, thread, task, begin);

	/* a thread that is preempted on its way to sleep stays runnable */
	__u32 state = preempt ? 0 : task->__state;

	context_leave(ring, thread, task, now);
	emit_run(ring, thread->tid, thread->state.since, 0, now);
	if (state & TASK_DEAD) {
		context_exit(task);
		emit_exit(ring, task, thread->tid, now);
		described[task->pid & (WIRE_DESCRIBED - 1)] = 0;
		thread->tid = 0;
		return;
	}
	task_check_priority(ring, thread, task, now);
	if (state) {
		site_save(thread, task, state);
		if (stack_limit())
			user_stack_save(ctx, task);
		thread_state_leave_cpu(&thread->state, now, PHASE_BLOCKED);
	} else {
		thread_state_leave_cpu(&thread->state, now,
				       is_throttled(task) ? PHASE_THROTTLED : PHASE_READY);
	}
}

static __always_inline void enter_cpu(struct wire_ring *ring, struct task_struct *task, __u64 now)
{
	struct traced_thread *thread = thread_of(task);

	ring->cpu.tid = task->pid;
	ring->cpu.switched = now;
	ring->cpu.irq = 0;
	ring->cpu.irq_begin = 0;
	ring->cpu.hrtimer = 0;
	ring->cpu.in_scope = thread != NULL;
	if (!thread)
		return;
	emit_wait(ring, thread, task, now, 0);
	thread->waker_stack = 0;
	thread->cpu = bpf_get_smp_processor_id();
	thread_state_enter_cpu(&thread->state, now);
}

/* A RUN that the end of the recording cuts off, possibly on another CPU than this one. */
static __always_inline void emit_open_run(struct wire_ring *ring, struct traced_thread *thread)
{
	struct record_run *run = ring_reserve(ring, sizeof(*run), stop_time);

	if (!run)
		return;
	run->start = thread->state.since;
	run->flags = INTERVAL_OPEN;
	ring_commit_on(&run->head, thread->cpu, RECORD_RUN, thread->tid, sizeof(*run));
}

/* The recording has ended: emit the unfinished interval of a thread, once. */
static __noinline void thread_finish(struct wire_ring *ring, struct task_struct *task)
{
	struct traced_thread *thread = thread_of(task);

	if (!thread || !thread->tid || __sync_lock_test_and_set(&thread->finished, 1))
		return;

	enum phase phase = thread->state.phase;

	if (phase == PHASE_ON || (phase == PHASE_UNKNOWN && task->on_cpu))
		emit_open_run(ring, thread);
	else
		emit_wait(ring, thread, task, stop_time, INTERVAL_OPEN);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct wire_ring *ring = ring_of_cpu();

	if (!ring || !active)
		return 0;

	__u64 now = bpf_ktime_get_ns();

	if (now > stop_time) {
		if (prev->__state & TASK_DEAD)
			thread_finish(ring, prev); /* the iterator skips dead tasks */
		return 0;
	}
	leave_cpu(ctx, ring, prev, preempt, now);
	enter_cpu(ring, next, now);
	return 0;
}

static __always_inline void set_waker(const struct wire_cpu *cpu, struct wake *wake)
{
	struct waking_cpu waking = {
		.tid = bpf_get_current_pid_tgid(),
		.hardirq = cpu->hardirq,
		.softirq = cpu->softirq,
		.softirq_tid = cpu->softirq_tid,
		.hrtimer = cpu->hrtimer,
	};

	wake_set_waker(wake, &waking);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	struct traced_thread *thread = thread_of(task);

	if (!thread)
		return 0;

	struct wire_ring *ring = ring_of_cpu();

	if (!ring || !active)
		return 0;

	struct wake wake = { .time = bpf_ktime_get_ns() };

	if (wake.time > stop_time)
		return 0;
	set_waker(&ring->cpu, &wake);
	if (wake.context == WAKE_TASK)
		task_describe_other(ring, bpf_get_current_task_btf(), wake.time);
	if (stack_limit() && wake.context == WAKE_TASK && thread->state.phase == PHASE_BLOCKED &&
	    wake.time - thread->state.since >= stack_limit() && thread_current())
		thread->waker_stack = stack_of_current(ctx, ring, OWN_FRAMES, wake.time);
	thread_state_wake(&thread->state, &wake);
	return 0;
}

/* A new thread waits for a CPU from its creation on. */
SEC("tp_btf/task_newtask")
int BPF_PROG(on_new_task, struct task_struct *task, unsigned long clone_flags)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	bool wanted = scope_all ? !scope_is_own(task->tgid) : thread_of(parent) != NULL;

	if (!wanted && scope_cgroup && scope_cgroup_hierarchy == 0)
		wanted = cgroup_is_wanted(task->cgroups->dfl_cgrp);

	struct wire_ring *ring = ring_of_cpu();
	__u64 now = bpf_ktime_get_ns();

	if (!ring || !active || now > stop_time)
		return 0;
	if (!wanted) {
		described[task->pid & (WIRE_DESCRIBED - 1)] = 0;
		return 0;
	}
	task_describe_other(ring, parent, now);
	thread_begin(ring, task, PHASE_READY, TASK_NEW, parent->pid, now);
	context_inherit(parent, task);
	return 0;
}

/*
 * exec replaces the program.  If a thread other than the main thread calls it,
 * that thread takes over the main thread's tid: the calling tid ends here, and a
 * thread with the other tid begins.
 */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid)
{
	struct wire_ring *ring = ring_of_cpu();
	struct traced_thread *thread = thread_of(task);
	__u64 now = bpf_ktime_get_ns();

	described[task->pid & (WIRE_DESCRIBED - 1)] = 0;
	if (!ring || !thread || !active || now > stop_time)
		return 0;
	context_exec(ring, thread, task, now);
	if (thread->tid != task->pid) {
		emit_run(ring, thread->tid, thread->state.since, 0, now);
		emit_exit(ring, task, thread->tid, now);
		thread->tid = task->pid;
		thread_state_begin(&thread->state, now, PHASE_ON);
	}
	task_describe(ring, task, TASK_EXEC, task->real_parent->tgid, now);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *comm)
{
	described[task->pid & (WIRE_DESCRIBED - 1)] = 0;

	struct wire_ring *ring = ring_of_cpu();

	if (!ring || !active || !thread_of(task))
		return 0;

	__u64 now = bpf_ktime_get_ns();
	struct wire_task *t = ring_reserve(ring, sizeof(*t), now);

	if (!t)
		return 0;
	/* task->comm is still the old name */
	t->task.pid = task->tgid;
	t->task.parent = task->real_parent->tgid;
	t->task.cgroup = task->cgroups->dfl_cgrp->kn->id;
	t->task.event = TASK_RENAMED;
	bpf_probe_read_kernel_str(t->comm, sizeof(t->comm), comm);
	task_describe_priority(t, task);
	ring_commit(&t->task.head, RECORD_TASK, task->pid, sizeof(*t));
	return 0;
}

SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_cgroup_attach, struct cgroup *cgroup, const char *path, struct task_struct *task)
{
	if (active && cgroup_is_wanted(cgroup))
		scope_join(task->tgid);
	return 0;
}

/* Brings the threads of all processes in scope_pids into scope. */
SEC("iter/task")
int find_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task)
		return 0;

	if (scope_is_own(task->tgid) || (!scope_all && !scope_has_joined(task)))
		return 0;
	if (thread_of(task) || task->__state & TASK_DEAD)
		return 0;

	struct wire_ring *ring = ring_of_cpu();

	if (ring)
		thread_begin(ring, task, PHASE_UNKNOWN, TASK_EXISTING, task->real_parent->tgid,
			     bpf_ktime_get_ns());
	return 0;
}

SEC("iter/task")
int finish_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct wire_ring *ring = ring_of_cpu();

	if (task && ring)
		thread_finish(ring, task);
	return 0;
}

#endif
