/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * context - which span a thread works for, as the process publishes it.
 *
 * OpenTelemetry's thread context (OTEP 4947) is a thread-local pointer to a
 * record that the thread alone writes.  It can be read while the thread is
 * stopped: here, when it leaves its CPU, it still is the current one and its
 * memory is at hand.  Only what differs from the last time is told.
 *
 * Where the pointer is, the recorder finds out (record/tls/locate.h) and puts
 * into `places`.  A thread looks there when something has changed, and keeps
 * what it found; threads and processes that it begets have it from birth, so
 * that the first thing they do is seen.  As long as no process publishes
 * anything, all of this is one comparison.
 *
 * A read that faults, or that comes in the middle of an update, says
 * CONTEXT_UNKNOWN until the next one.
 */
#ifndef SONDE_BPF_CONTEXT_BPF_H
#define SONDE_BPF_CONTEXT_BPF_H

#include "bpf/thread.bpf.h"

__u64 place_changes; /* how often the recorder changed `places` */

/* By process.  An entry that nobody took out is harmless, and makes room for new ones. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct wire_tls_location);
} places SEC(".maps");

/* The record up to its attributes, as the standard lays it out. */
struct otel_context {
	struct context_ids ids;
	__u8 valid;
	__u8 trace_flags;
	__u8 pad[6];
};

#define OTEL_CONTEXT_SIZE 26 /* without the padding */

/* The DTV of glibc: its first entries are numbers, those of modules are addresses. */
struct glibc_dtv {
	__u64 room, pad;
	__u64 generation, pad2; /* this is where a thread points to */
};

#define DTV_UNALLOCATED (~0ull)
#define DTV_OF_THREAD 8 /* from the FS base, in both libraries */

static __always_inline __u64 image_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, mm, start_stack) + BPF_CORE_READ(task, mm, end_code);
}

static __always_inline void place_refresh(struct thread *thread, struct task_struct *task)
{
	__u64 changes = *(volatile __u64 *)&place_changes;
	__u32 pid = task->tgid;

	if (thread->place_seen == changes)
		return;
	thread->place_seen = changes;

	struct wire_tls_location *place = bpf_map_lookup_elem(&places, &pid);

	if (place && place->image == image_of(task))
		thread->place = *place;
}

/*
 * Where a module has its variables in this thread: 0 if nowhere yet.  The
 * result is negative if that cannot be read.
 */
static __always_inline long module_block(const struct wire_tls_location *place, __u64 base,
					 __u64 *ret)
{
	struct glibc_dtv head = { 0 };
	__u64 dtv = 0;

	if (bpf_probe_read_user(&dtv, sizeof(dtv), (void *)(base + DTV_OF_THREAD)))
		return -1;
	if (place->kind == TLS_LOCATION_MUSL) {
		if (bpf_probe_read_user(&head.room, sizeof(head.room), (void *)dtv))
			return -1;
		dtv += 8 * place->module;
	} else {
		if (bpf_probe_read_user(&head, sizeof(head), (void *)(dtv - 16)))
			return -1;
		dtv += 16 * place->module;
	}
	*ret = 0;
	if (place->module > head.room || place->generation > head.generation)
		return 0;
	return bpf_probe_read_user(ret, sizeof(*ret), (void *)dtv);
}

/* What the current thread publishes; returns flags of a CONTEXT. */
static __always_inline __u8 context_read(const struct wire_tls_location *place,
					 struct task_struct *task, struct context_ids *ret)
{
	struct otel_context context = { 0 };
	__u64 block = task->thread.fsbase, pointer = 0;

	if (place->kind != TLS_LOCATION_STATIC) {
		if (module_block(place, block, &block))
			return CONTEXT_UNKNOWN;
		if (!block || block == DTV_UNALLOCATED)
			return 0;
	}
	if (bpf_probe_read_user(&pointer, sizeof(pointer), (void *)(block + place->offset)))
		return CONTEXT_UNKNOWN;
	if (!pointer)
		return 0;
	if (bpf_probe_read_user(&context, OTEL_CONTEXT_SIZE, (void *)pointer) || context.valid != 1)
		return CONTEXT_UNKNOWN;
	if (context.ids.span)
		*ret = context.ids;
	return 0;
}

/* It is kept only if it could be told, so that a full ring means later and not never. */
static __always_inline void context_note(struct wire_ring *ring, struct thread *thread,
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

/* A kernel thread that works for a process has the FS base of the thread that it comes from. */
#define PF_NOT_ITSELF (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER | PF_EXITING)

static __noinline void context_look(struct wire_ring *ring, struct thread *thread,
				    struct task_struct *task, __u64 now)
{
	struct context_ids ids = { 0 };

	place_refresh(thread, task);
	if (thread->place.kind == TLS_LOCATION_NONE || task->flags & PF_NOT_ITSELF)
		return;

	__u8 flags = context_read(&thread->place, task, &ids);

	context_note(ring, thread, &ids, flags, thread->state.since, now);
}

/* The current thread leaves its CPU, which it has had since state.since. */
static __always_inline void context_leave(struct wire_ring *ring, struct thread *thread,
					  struct task_struct *task, __u64 now)
{
	if (place_changes)
		context_look(ring, thread, task, now);
}

/* The current thread has a child. */
static __always_inline void context_inherit(struct task_struct *task, struct task_struct *child)
{
	if (!place_changes)
		return;

	struct thread *from = thread_of(task), *to = thread_of(child);

	if (!from || !to)
		return;
	place_refresh(from, task);
	to->place = from->place;
	to->place_seen = from->place_seen;
}

/* It executes another program, which publishes nothing so far. */
static __always_inline void context_exec(struct wire_ring *ring, struct thread *thread,
					 struct task_struct *task, __u64 now)
{
	struct context_ids none = { 0 };
	__u32 pid = task->tgid;

	if (!place_changes)
		return;
	bpf_map_delete_elem(&places, &pid);
	__builtin_memset(&thread->place, 0, sizeof(thread->place));
	context_note(ring, thread, &none, 0, now, now);
}

static __always_inline void context_exit(struct task_struct *task)
{
	__u32 pid = task->tgid;

	if (place_changes && task->pid == task->tgid)
		bpf_map_delete_elem(&places, &pid);
}

#endif
