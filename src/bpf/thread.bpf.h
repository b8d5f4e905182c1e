/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * thread - the state of each thread in scope, and the scope itself.
 *
 * A thread is in scope exactly if it has task storage in `threads`, so the check
 * is cheap for all other threads.  An iterator creates the storage of threads that
 * exist when recording starts; children of threads in scope get theirs at fork.
 * Processes that start to listen on a wanted port or move into the wanted cgroup
 * join the scope.
 */
#ifndef SONDE_BPF_THREAD_BPF_H
#define SONDE_BPF_THREAD_BPF_H

#include "bpf/kernel.h"
#include "bpf/ring.bpf.h"
#include "event/thread_state.h"

const volatile bool scope_all;
const volatile __u32 scope_self; /* pid of the recorder, which is never in scope */
const volatile __u32
	scope_reader; /* pid of the reader of its stream, which is out of scope, too; or 0 */
const volatile __u64 scope_cgroup; /* id of a cgroup, or 0 */
const volatile int scope_cgroup_hierarchy;
const volatile __u16 scope_ports[WIRE_PORTS];
const volatile bool other_tasks;
const volatile __u64 stack_threshold; /* ns; 0 for no stacks */
const volatile bool on_demand;        /* stacks, system calls and other tasks can be switched */

__u64 stack_threshold_now; /* on_demand: instead of stack_threshold */

/* With constants, the verifier removes the code for stacks if there are none. */
static __always_inline __u64 stack_limit(void)
{
	return on_demand ? stack_threshold_now : stack_threshold;
}

bool other_tasks_now; /* on_demand: instead of other_tasks */

static __always_inline bool records_other_tasks(void)
{
	return on_demand ? other_tasks_now : other_tasks;
}

static __always_inline bool scope_is_own(__u32 pid)
{
	return pid == scope_self || pid == scope_reader;
}

__u32 stack_last; /* number of the last stack */

/*
 * Pids that find_threads() brings into scope; the recorder and programs add to it.  The value is
 * the latest time at which the process can have started: one that started later has reused the pid.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u64);
} scope_pids SEC(".maps");

__u64 scope_joins; /* number of pids that programs added to scope_pids */

/* In the byte order of memory. */
struct context_ids {
	__u64 trace[2];
	__u64 span;
};

struct traced_thread {
	struct thread_state state;
	__u64 syscall_start; /* 0 outside a traced system call */
	__u64 syscall_args[3];
	__s32 syscall_nr;
	__u32 tid;       /* as recorded: an exec can change it */
	__u64 site_arg;  /* wait site: first argument of the system call */
	__s16 site_call; /* wait site: number of the system call, or SYSCALL_NONE */
	__u8 site_flags; /* wait site: INTERVAL_IOWAIT, _UNINTERRUPTIBLE, _CONDVAR, _STOPPED */
	__u8 priority;   /* normal_prio of its last TASK record */
	__u64 site_futex_op;
	__u32 site_futex_value;
	struct inode *fault_inode; /* file of the last page fault since it last blocked, or NULL */
	__u64 fault_instruction;
	__u8 site_memory;         /* wait site: enum memory_shortage */
	struct inode *site_inode; /* wait site: file of the page fault, or NULL */
	__u32 waker_stack;
	__u32 cpu;      /* of its last slice */
	__u32 finished; /* whether its last interval was recorded */
	struct wire_tls_location tls_location;
	__u64 tls_location_version; /* tls_location_changes at the last lookup */
	struct context_ids context; /* last recorded context */
	__u64 context_flags;        /* CONTEXT_UNKNOWN or 0 */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct traced_thread);
} threads SEC(".maps");

static __always_inline struct traced_thread *thread_of(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, 0, 0);
}

static __always_inline struct traced_thread *thread_current(void)
{
	return thread_of(bpf_get_current_task_btf());
}

/*
 * The tids that a TASK record has described, and their priority then, which takes one load to
 * compare.  Two tids that share a slot are described repeatedly, which is harmless.
 */
__u32 described[WIRE_DESCRIBED];

static __always_inline __u32 described_key(struct task_struct *task)
{
	return task->pid | (__u32)task->normal_prio << 22; /* a pid has 22 bits */
}

/* The tid of a thread in its own PID namespace. */
static __always_inline void task_describe_namespace(struct wire_task *t, struct task_struct *task)
{
	/* older verifiers allow pointer arithmetic only after BPF_CORE_READ() */
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	unsigned int level = BPF_CORE_READ(pid, level);

	if (level == 0)
		return;

	struct upid *number = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
			      level * bpf_core_type_size(struct upid);

	t->ns_tid = BPF_CORE_READ(number, nr);
	t->pid_ns = BPF_CORE_READ(number, ns, ns.inum);
}

static __always_inline void task_describe_priority(struct wire_task *t, struct task_struct *task)
{
	t->task.policy = task->policy + 1;
	t->task.priority =
		task->rt_priority ? task->rt_priority : task->static_prio - NICE_ZERO_PRIO;
}

static __always_inline void task_describe(struct wire_ring *ring, struct task_struct *task,
					  enum task_event event, __u32 parent, __u64 now)
{
	struct wire_task *t = ring_reserve(ring, sizeof(*t), now);

	if (!t)
		return;
	t->task.pid = task->tgid;
	t->task.parent = parent;
	t->task.cgroup = task->cgroups->dfl_cgrp->kn->id;
	t->task.event = event;
	t->task.flags = task->flags & PF_KTHREAD ? TASK_KERNEL : 0;
	bpf_probe_read_kernel(t->comm, sizeof(t->comm), task->comm);
	task_describe_namespace(t, task);
	task_describe_priority(t, task);
	ring_commit(&t->task.head, RECORD_TASK, task->pid, sizeof(*t));
	described[task->pid & (WIRE_DESCRIBED - 1)] = described_key(task);
}

/* Describe an out-of-scope thread, once. */
static __always_inline void task_describe_other(struct wire_ring *ring, struct task_struct *task,
						__u64 now)
{
	if (described[task->pid & (WIRE_DESCRIBED - 1)] != described_key(task) && !thread_of(task))
		task_describe(ring, task, TASK_OUT_OF_SCOPE, 0, now);
}

/* Describe a thread in scope again if its priority has changed. */
static __always_inline void task_check_priority(struct wire_ring *ring,
						struct traced_thread *thread,
						struct task_struct *task, __u64 now)
{
	if (thread->priority == (__u8)task->normal_prio)
		return;
	thread->priority = task->normal_prio;
	task_describe(ring, task, TASK_PRIORITY, task->real_parent->tgid, now);
}

static __always_inline __u16 task_cpu(struct task_struct *task)
{
	struct task_struct___cpu *t = (void *)task;

	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	return BPF_CORE_READ(t, cpu);
}

/* Bring a thread into scope. */
static __always_inline void thread_begin(struct wire_ring *ring, struct task_struct *task,
					 enum phase phase, enum task_event event, __u32 parent,
					 __u64 now)
{
	struct traced_thread *thread =
		bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!thread)
		return;
	thread->tid = task->pid;
	thread->site_call = SYSCALL_UNKNOWN;
	thread->cpu = task_cpu(task);
	thread->priority = task->normal_prio;
	task_describe(ring, task, event, parent, now);
	thread_state_begin(&thread->state, now, phase);
}

/* Add a process to the scope; the recorder then runs the iterator, which adds its threads. */
static __always_inline void scope_join(__u32 pid)
{
	__u64 any = ~0ull;

	if (scope_is_own(pid) || bpf_map_lookup_elem(&scope_pids, &pid))
		return;
	bpf_map_update_elem(&scope_pids, &pid, &any, BPF_ANY);
	__sync_fetch_and_add(&scope_joins, 1);
}

/* Whether the process of a thread was added. */
static __always_inline bool scope_has_joined(struct task_struct *task)
{
	__u32 pid = task->tgid;
	const __u64 *latest = bpf_map_lookup_elem(&scope_pids, &pid);

	return latest && BPF_CORE_READ(task, group_leader, start_time) <= *latest;
}

static __always_inline bool cgroup_is_wanted(struct cgroup *cgroup)
{
	if (cgroup->root->hierarchy_id != scope_cgroup_hierarchy)
		return false;

	int level = cgroup->level;

	for (int i = 0; i < 32 && i <= level; i++) {
		__u64 id = 0;

		if (bpf_core_field_exists(cgroup->ancestors)) {
			id = BPF_CORE_READ(cgroup, ancestors[i], kn, id);
		} else {
			struct cgroup___ids *old = (void *)cgroup;

			bpf_core_read(&id, sizeof(id), &old->ancestor_ids[i]);
		}
		if (id == scope_cgroup)
			return true;
	}
	return false;
}

#endif
