/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads in a trace: their names, processes, creation and exit.
 *
 * A thread is added when the first event contains its tid.  Some events, such as
 * sched_switch, contain the current name.  The name in an event's header comes from
 * the tracer's cache and can be outdated, so it counts only until an event of the
 * first sort.
 */
#include <string.h>

#include "read/replay/internal.h"

/* Most traces do not mark kernel threads, but their names have known prefixes. */
static bool has_kernel_name(const char *comm)
{
	static const char *const prefixes[] = { "kworker/", "ksoftirqd/", "migration/", "rcu_",
						"kthreadd", "irq/",       "cpuhp/",     "kswapd",
						"jbd2/",    "kcompactd",  "khugepaged", "watchdog",
						"napi/" };

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (strncmp(comm, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static void make_task(struct replay *r, const struct replay_thread *t, enum task_event event,
		      uint32_t parent, const struct raw_event *e)
{
	struct record_task *task =
		replay_make(r, RECORD_TASK, sizeof(*task), t->tid, e->cpu, e->time);

	task->pid = t->pid;
	task->parent = parent;
	task->comm = strtab_add_n(r->strings, t->comm, sizeof(t->comm)).i;
	task->event = event;
	task->flags = t->kernel ? TASK_KERNEL : 0;
}

/* Sets the name; whether it differs from the old one.  The text may be longer, or unterminated. */
static bool take_comm(struct replay_thread *t, const struct raw_text *comm)
{
	char name[sizeof(t->comm)] = "";
	size_t len = comm->len < sizeof(name) - 1 ? comm->len : sizeof(name) - 1;

	if (memcmp(comm->s, t->comm, len) == 0 && !t->comm[len])
		return false;
	memcpy(name, comm->s, len);
	if (strncmp(name, t->comm, sizeof(name)) == 0)
		return false;
	strncpy(t->comm, name, sizeof(t->comm));
	return true;
}

static void rename_thread(struct replay *r, struct replay_thread *t, const struct raw_text *comm,
			  uint32_t pid, const struct raw_event *e)
{
	bool changed = comm->s && take_comm(t, comm);

	t->named |= comm->s != NULL;
	if (pid != RAW_UNKNOWN && pid != t->pid) {
		t->pid = pid;
		changed = true;
	}
	if (changed) {
		t->kernel |= has_kernel_name(t->comm);
		make_task(r, t, TASK_RENAMED, 0, e);
	}
}

static struct replay_thread *add_thread(struct replay *r, uint32_t tid)
{
	struct replay_thread *t =
		r->unused.count ? r->unused.items[--r->unused.count] : must_alloc(sizeof(*t));

	*t = (struct replay_thread){ .tid = tid, .pid = tid, .call = SYSCALL_UNKNOWN };
	map_insert_ptr(&r->tids, tid, t);
	return t;
}

static void remove_thread(struct replay *r, struct replay_thread *t)
{
	for (size_t i = 0; i < r->cpus.count; i++)
		if (r->cpus.items[i].thread == t)
			r->cpus.items[i].thread = NULL;
	if (r->last == t)
		r->last = NULL;
	replay_descriptors_drop(t);
	map_remove(&r->tids, t->tid);
	*vec_push(&r->unused) = t;
}

/* Most lookups repeat the last one.  NULL if the thread is unknown. */
static struct replay_thread *find_thread(struct replay *r, uint32_t tid)
{
	if (!r->last || r->last->tid != tid)
		r->last = map_find_ptr(&r->tids, tid);
	return r->last;
}

/*
 * Adds a thread that its first event finds running or sleeping.  If the trace
 * contains thread creations but not that of this thread, the thread existed from
 * the start.
 */
static struct replay_thread *discover_thread(struct replay *r, uint32_t tid,
					     const struct raw_event *e)
{
	struct replay_thread *t = add_thread(r, tid);
	bool existed =
		r->source->has_kinds && r->source->kinds & REPLAY_BIT(RAW_FORK) &&
		!(r->source->kinds & REPLAY_BIT(RAW_WAIT)); /* an exported trace has the start */

	thread_state_begin(&t->state, existed ? r->begin : e->time, PHASE_UNKNOWN);
	t->kernel = tid == 2;
	return t;
}

struct replay_thread *replay_thread(struct replay *r, uint32_t tid, const struct raw_event *e)
{
	if (!tid || tid == RAW_UNKNOWN)
		return NULL;

	return find_thread(r, tid) ?: discover_thread(r, tid, e);
}

/* As replay_thread(), for an event that contains the thread's name; pid may be RAW_UNKNOWN. */
static struct replay_thread *thread_named(struct replay *r, uint32_t tid, uint32_t pid,
					  struct raw_text comm, const struct raw_event *e)
{
	const struct replay_cpu *cpu = &r->cpus.items[e->cpu];
	struct replay_thread *t = tid == cpu->tid ? cpu->thread : NULL;

	if (!t && tid != RAW_UNKNOWN)
		t = find_thread(r, tid);
	if (t) {
		if (comm.s)
			rename_thread(r, t, &comm, pid, e);
		return t;
	}
	t = replay_thread(r, tid, e);
	if (!t)
		return NULL;
	if (comm.s)
		take_comm(t, &comm);
	if (pid != RAW_UNKNOWN)
		t->pid = pid;
	t->named = comm.s;
	t->kernel |= has_kernel_name(t->comm);
	make_task(r, t, TASK_EXISTING, 0, e);
	return t;
}

struct replay_thread *replay_named_thread(struct replay *r, uint32_t tid, struct raw_text comm,
					  const struct raw_event *e)
{
	return thread_named(r, tid, RAW_UNKNOWN, comm, e);
}

struct replay_thread *replay_current_thread(struct replay *r, const struct raw_event *e)
{
	const struct replay_cpu *cpu = &r->cpus.items[e->cpu];

	if (e->tid == RAW_UNKNOWN || e->tid == cpu->tid)
		return cpu->thread;
	return find_thread(r, e->tid);
}

void replay_event_thread(struct replay *r, const struct raw_event *e)
{
	if (!e->tid || e->tid == RAW_UNKNOWN)
		return;

	struct replay_thread *t = replay_current_thread(r, e);

	/* events within a switch, such as its stack, carry the tid of the thread that left */
	if (!t && e->tid == r->cpus.items[e->cpu].exited_tid)
		return;
	if (!t) {
		t = thread_named(r, e->tid, e->pid, e->comm, e);
		t->named = false;
	}
	if ((e->comm.s && !t->named) || (e->pid != RAW_UNKNOWN && e->pid != t->pid)) {
		bool named = t->named;

		rename_thread(r, t, &(struct raw_text){ named ? NULL : e->comm.s, e->comm.len },
			      e->pid, e);
		t->named = named;
	}
}

void replay_thread_exit(struct replay *r, struct replay_thread *t, const struct raw_event *e)
{
	struct record_exit *x = replay_make(r, RECORD_EXIT, sizeof(*x), t->tid, e->cpu, e->time);

	x->pid = t->pid;
	remove_thread(r, t);
}

enum { CLONE_THREAD_FLAG = 0x10000, CALL_CLONE = 56, CALL_CLONE3 = 435 };

/*
 * The process of a new thread.  If the event does not contain it, the parent's
 * system call decides.  clone() has flags.  No trace contains the arguments of
 * clone3(), but C libraries use it to create threads.  If clone3() created a process
 * instead, that process usually calls exec soon, and the pid is corrected then.
 */
static uint32_t process_of(const struct raw_event *e, const struct replay_thread *parent)
{
	uint32_t flags = e->fork.flags;

	if (e->fork.child_pid != RAW_UNKNOWN)
		return e->fork.child_pid;
	if (!parent)
		return e->fork.child;
	if (flags == RAW_UNKNOWN && parent->call == CALL_CLONE)
		flags = parent->args[0];
	if (flags == RAW_UNKNOWN && parent->call == CALL_CLONE3)
		flags = CLONE_THREAD_FLAG;
	return flags != RAW_UNKNOWN && flags & CLONE_THREAD_FLAG ? parent->pid : e->fork.child;
}

void replay_fork(struct replay *r, const struct raw_event *e)
{
	uint32_t creator = e->fork.parent != RAW_UNKNOWN ? e->fork.parent : e->tid;
	struct replay_thread *parent =
		creator == RAW_UNKNOWN ? replay_current_thread(r, e) : replay_thread(r, creator, e);
	struct replay_thread *old = map_find_ptr(&r->tids, e->fork.child);

	if (!e->fork.child || e->fork.child == RAW_UNKNOWN || (old && old == parent))
		return;
	if (old && old->newborn)
		return; /* two tracepoints report the same creation */
	if (old)
		remove_thread(r, old);

	struct replay_thread *t = add_thread(r, e->fork.child);

	if (e->fork.comm.s)
		take_comm(t, &e->fork.comm);
	else if (parent)
		memcpy(t->comm, parent->comm, sizeof(t->comm));
	t->named = e->fork.comm.s;
	t->pid = process_of(e, parent);
	t->newborn = true;
	t->kernel = creator == 2;
	t->call = SYSCALL_NONE;
	thread_state_begin(&t->state, e->time, PHASE_READY);
	if (parent && parent->pid == t->pid)
		replay_descriptors_share(t, parent);
	else if (parent)
		replay_descriptors_copy(t, parent);
	make_task(r, t, TASK_NEW, parent ? parent->tid : 0, e);
}

/* If a thread other than the main thread calls exec, it takes over the main thread's tid. */
void replay_exec(struct replay *r, const struct raw_event *e)
{
	uint32_t tid = e->exec.tid != RAW_UNKNOWN ? e->exec.tid : e->tid;
	struct replay_thread *t = replay_thread(r, tid, e);
	struct replay_cpu *cpu = &r->cpus.items[e->cpu];

	if (!t)
		return;
	if (e->exec.old_tid != RAW_UNKNOWN && e->exec.old_tid != tid) {
		struct replay_thread *old = map_find_ptr(&r->tids, e->exec.old_tid);

		if (old) {
			replay_run(r, old, e->time, cpu->irq, 0);
			replay_thread_exit(r, old, e);
		}
		thread_state_begin(&t->state, e->time, PHASE_ON);
		cpu->thread = t;
		cpu->tid = tid;
	}
	if (e->exec.path.s) {
		const char *slash = memrchr(e->exec.path.s, '/', e->exec.path.len);
		const char *name = slash ? slash + 1 : e->exec.path.s;

		take_comm(t, &(struct raw_text){ name, e->exec.path.s + e->exec.path.len - name });
	}
	t->pid = tid;
	make_task(r, t, TASK_EXEC, 0, e);
}

void replay_task(struct replay *r, const struct raw_event *e)
{
	struct replay_thread *t = map_find_ptr(&r->tids, e->task.tid);

	if (!e->task.tid || e->task.tid == RAW_UNKNOWN)
		return;
	if (t) {
		t->kernel |= e->task.kernel == 1;
		rename_thread(r, t, &e->task.comm, e->task.pid, e);
		return;
	}
	t = discover_thread(r, e->task.tid, e);
	if (e->task.comm.s)
		take_comm(t, &e->task.comm);
	t->named = e->task.comm.s;
	if (e->task.pid != RAW_UNKNOWN)
		t->pid = e->task.pid;
	t->kernel = e->task.kernel == RAW_UNKNOWN ? has_kernel_name(t->comm) : e->task.kernel == 1;
	make_task(r, t, TASK_EXISTING, e->task.parent, e);
}

void replay_exiting(struct replay *r, const struct raw_event *e)
{
	struct replay_thread *t = replay_named_thread(r, e->wake.tid, e->wake.comm, e);

	if (!t)
		return;
	t->exiting = true;
	if (!replay_has(r, REPLAY_BIT(RAW_SWITCH))) /* otherwise it ends with its last switch */
		replay_thread_exit(r, t, e);
}
