/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * context - the current span of a thread, as the process publishes it.
 *
 * OpenTelemetry's thread context (OTEP 4947) is a thread-local pointer to a
 * record that only its thread writes.  It can be read while the thread does not
 * run: here at the switch-out, while the thread is still current and its
 * memory is mapped.  A record is emitted only if the context has changed.
 *
 * The recorder finds the thread-local pointer (record/tls/locate.h) and stores
 * its location in `tls_locations`.  A thread looks it up after each change of
 * the map, and caches the result.  New threads and child processes inherit the
 * location, so that their first context is recorded.  As long as no process
 * publishes contexts, the cost is one comparison.
 *
 * If a read faults or happens during an update, the context is CONTEXT_UNKNOWN
 * until the next read.
 */
#ifndef SONDE_BPF_CONTEXT_BPF_H
#define SONDE_BPF_CONTEXT_BPF_H

#include "bpf/thread.bpf.h"

__u64 tls_location_changes; /* number of changes of `tls_locations` by the recorder */

/* By pid.  Stale entries are harmless, and evicted when the map is full. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct wire_tls_location);
} tls_locations SEC(".maps");

/* The layout of OTEP 4947, without the attributes at its end. */
struct otel_context {
	struct context_ids ids;
	__u8 valid;
	__u8 trace_flags;
	__u8 pad[6];
};

#define OTEL_CONTEXT_SIZE 26 /* without the padding */

/* The head of glibc's dynamic thread vector (DTV); the addresses of modules follow. */
struct glibc_dtv {
	__u64 room, pad;
	__u64 generation, pad2; /* the thread's DTV pointer points here */
};

#define DTV_UNALLOCATED (~0ull)
#define DTV_OF_THREAD 8 /* offset from the FS base, in glibc and musl */

static __always_inline __u64 image_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, mm, start_stack) + BPF_CORE_READ(task, mm, end_code);
}

static __always_inline void tls_location_refresh(struct traced_thread *thread,
						 struct task_struct *task)
{
	__u64 changes = *(volatile __u64 *)&tls_location_changes;
	__u32 pid = task->tgid;

	if (thread->tls_location_version == changes)
		return;
	thread->tls_location_version = changes;

	struct wire_tls_location *location = bpf_map_lookup_elem(&tls_locations, &pid);

	if (location && location->image == image_of(task))
		thread->tls_location = *location;
}

/*
 * Get the address of a module's TLS block in this thread; 0 if it is not allocated
 * yet.  Returns a negative value if memory is unreadable.
 */
static __always_inline long module_block(const struct wire_tls_location *location, __u64 base,
					 __u64 *ret)
{
	struct glibc_dtv head = { 0 };
	__u64 dtv = 0;

	if (bpf_probe_read_user(&dtv, sizeof(dtv), (void *)(base + DTV_OF_THREAD)))
		return -1;
	if (location->kind == TLS_LOCATION_MUSL) {
		if (bpf_probe_read_user(&head.room, sizeof(head.room), (void *)dtv))
			return -1;
		dtv += 8 * location->module;
	} else {
		if (bpf_probe_read_user(&head, sizeof(head), (void *)(dtv - 16)))
			return -1;
		dtv += 16 * location->module;
	}
	*ret = 0;
	if (location->module > head.room || location->generation > head.generation)
		return 0;
	return bpf_probe_read_user(ret, sizeof(*ret), (void *)dtv);
}

/* Read the published context of the current thread; returns flags of a CONTEXT record. */
static __always_inline __u8 context_read(const struct wire_tls_location *location,
					 struct task_struct *task, struct context_ids *ret)
{
	struct otel_context context = { 0 };
	__u64 block = task->thread.fsbase, pointer = 0;

	if (!block)
		return 0; /* a program that starts: its linker has not set up TLS yet */
	if (location->kind != TLS_LOCATION_STATIC) {
		if (module_block(location, block, &block))
			return CONTEXT_UNKNOWN;
		if (!block || block == DTV_UNALLOCATED)
			return 0;
	}
	if (bpf_probe_read_user(&pointer, sizeof(pointer), (void *)(block + location->offset)))
		return CONTEXT_UNKNOWN;
	if (!pointer)
		return 0;
	if (bpf_probe_read_user(&context, OTEL_CONTEXT_SIZE, (void *)pointer) || context.valid != 1)
		return CONTEXT_UNKNOWN;
	if (context.ids.span)
		*ret = context.ids;
	return 0;
}

/* The context is saved only if the ring has room for its record; otherwise a later call reports it.
 */
static __always_inline void context_report(struct wire_ring *ring, struct traced_thread *thread,
					   const struct context_ids *ids, __u8 flags, __u64 since,
					   __u64 now)
{
	const struct context_ids *old = &thread->context;

	if (ids->span == old->span && ids->trace[0] == old->trace[0] &&
	    ids->trace[1] == old->trace[1] && flags == thread->context_flags)
		return;

	struct record_context *c = ring_reserve(ring, sizeof(*c), now);

	if (!c)
		return;
	c->since = since;
	__builtin_memcpy(c->trace, ids->trace, sizeof(c->trace));
	__builtin_memcpy(c->span, &ids->span, sizeof(c->span));
	c->flags = flags | CONTEXT_OBSERVED;
	ring_commit(&c->head, RECORD_CONTEXT, thread->tid, sizeof(*c));
	thread->context = *ids;
	thread->context_flags = flags;
}

/* Kernel workers of a process have the FS base of the thread that created them. */
#define PF_NO_CONTEXT (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER | PF_EXITING)

static __noinline void context_check(struct wire_ring *ring, struct traced_thread *thread,
				     struct task_struct *task, __u64 now)
{
	struct context_ids ids = { 0 };

	tls_location_refresh(thread, task);
	if (thread->tls_location.kind == TLS_LOCATION_NONE || task->flags & PF_NO_CONTEXT)
		return;

	__u8 flags = context_read(&thread->tls_location, task, &ids);

	context_report(ring, thread, &ids, flags, thread->state.since, now);
}

/* At the switch-out of the current thread, whose slice started at state.since. */
static __always_inline void context_leave(struct wire_ring *ring, struct traced_thread *thread,
					  struct task_struct *task, __u64 now)
{
	if (tls_location_changes)
		context_check(ring, thread, task, now);
}

/* The current thread forks. */
static __always_inline void context_inherit(struct task_struct *task, struct task_struct *child)
{
	if (!tls_location_changes)
		return;

	struct traced_thread *from = thread_of(task), *to = thread_of(child);

	if (!from || !to)
		return;
	tls_location_refresh(from, task);
	to->tls_location = from->tls_location;
	to->tls_location_version = from->tls_location_version;
}

/* The current thread executes another program, which publishes no context yet. */
static __always_inline void context_exec(struct wire_ring *ring, struct traced_thread *thread,
					 struct task_struct *task, __u64 now)
{
	struct context_ids none = { 0 };
	__u32 pid = task->tgid;

	if (!tls_location_changes)
		return;
	bpf_map_delete_elem(&tls_locations, &pid);
	__builtin_memset(&thread->tls_location, 0, sizeof(thread->tls_location));
	context_report(ring, thread, &none, 0, now, now);
}

static __always_inline void context_exit(struct task_struct *task)
{
	__u32 pid = task->tgid;

	if (tls_location_changes && task->pid == task->tgid)
		bpf_map_delete_elem(&tls_locations, &pid);
}

#endif
