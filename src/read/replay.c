/* SPDX-License-Identifier: Apache-2.0 */
#include "read/replay.h"

#include <stdio.h>
#include <string.h>

#include "read/replay_parts.h"

struct replay *replay_new(struct raw_source *source)
{
	struct replay *r = must_alloc(sizeof(*r));

	r->source = source;
	r->strings = strtab_new();
	return r;
}

static void free_threads(struct replay *r)
{
	uint64_t key, value;

	for (size_t pos = 0; map_next(&r->tids, &pos, &key, &value);) {
		struct replay_thread *t = (void *)(uintptr_t)value;

		descriptors_drop(t);
		free(t);
	}
	for (size_t i = 0; i < r->unused.count; i++)
		free(r->unused.items[i]);
	map_done(&r->tids);
	vec_done(&r->unused);
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	free_threads(r);
	replay_spans_done(r);
	vec_done(&r->cpus);
	map_done(&r->sockets);
	vec_done(&r->socket_list);
	map_done(&r->requests);
	vec_done(&r->request_list);
	vec_done(&r->unused_requests);
	map_done(&r->files);
	map_done(&r->hit_types);
	strtab_free(r->strings);
	free(r->made);
	free(r);
}

void *replay_make(struct replay *r, enum record_kind kind, size_t size, uint32_t tid, uint16_t cpu,
		  nsec_t time)
{
	size_t words = (size + 7) / 8;

	if (r->made_words + words > r->made_room) {
		r->made_room = 2 * (r->made_words + words);
		r->made = must_realloc(r->made, r->made_room * sizeof(*r->made));
	}

	struct record *record = (void *)(r->made + r->made_words);

	memset(record, 0, 8 * words);
	*record = (struct record){ time, tid, cpu, kind, words };
	r->made_words += words;
	return record;
}

const struct record *replay_take(struct replay *r)
{
	if (r->taken_words == r->made_words) {
		r->taken_words = r->made_words = 0;
		return NULL;
	}

	const struct record *record = (void *)(r->made + r->taken_words);

	r->taken_words += record->words;
	return record;
}

const char *replay_string(const struct replay *r, uint32_t id)
{
	return strtab_get(r->strings, (str_id){ id });
}

nsec_t replay_begin(const struct replay *r)
{
	return r->begin;
}

static bool has_any(const struct replay *r, uint32_t kinds)
{
	return (r->seen | r->source->kinds) & kinds;
}

#define BIT(kind) (1u << (kind))

/* What the names of the kernel's own threads begin with: most traces do not say who is one. */
static bool has_kernel_name(const char *comm)
{
	static const char *const begins[] = { "kworker/", "ksoftirqd/", "migration/", "rcu_",
					      "kthreadd", "irq/",       "cpuhp/",     "kswapd",
					      "jbd2/",    "kcompactd",  "khugepaged", "watchdog" };

	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (strncmp(comm, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static void tell_task(struct replay *r, const struct replay_thread *t, enum task_event event,
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

/* Whether that is news.  Names are short, and a text may be longer, or not terminated. */
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

void replay_name(struct replay *r, struct replay_thread *t, const struct raw_text *comm,
		 uint32_t pid, const struct raw_event *e)
{
	bool news = comm->s && take_comm(t, comm);

	t->named |= comm->s != NULL;
	if (pid != RAW_UNKNOWN && pid != t->pid) {
		t->pid = pid;
		news = true;
	}
	if (news) {
		t->kernel |= has_kernel_name(t->comm);
		tell_task(r, t, TASK_RENAMED, 0, e);
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
	descriptors_drop(t);
	map_remove(&r->tids, t->tid);
	*vec_push(&r->unused) = t;
}

/* An event is mostly about who was asked for last: NULL if it is not known. */
static struct replay_thread *find_thread(struct replay *r, uint32_t tid)
{
	if (!r->last || r->last->tid != tid)
		r->last = map_find_ptr(&r->tids, tid);
	return r->last;
}

/*
 * A thread of whose creation nothing was seen, though creations are, was there
 * all the time.
 */
static struct replay_thread *meet(struct replay *r, uint32_t tid, const struct raw_event *e)
{
	struct replay_thread *t = add_thread(r, tid);
	bool always = r->source->knows_kinds && r->source->kinds & BIT(RAW_FORK) &&
		      !(r->source->kinds & BIT(RAW_WAIT)); /* these say since when */

	machine_begin(&t->machine, always ? r->begin : e->time, PHASE_UNKNOWN);
	t->kernel = tid == 2;
	return t;
}

struct replay_thread *replay_thread(struct replay *r, uint32_t tid, const struct raw_event *e)
{
	if (!tid || tid == RAW_UNKNOWN)
		return NULL;

	return find_thread(r, tid) ?: meet(r, tid, e);
}

/* As replay_thread(), for a thread that the event names; pid may be RAW_UNKNOWN. */
static struct replay_thread *thread_named(struct replay *r, uint32_t tid, uint32_t pid,
					  struct raw_text comm, const struct raw_event *e)
{
	const struct replay_cpu *cpu = &r->cpus.items[e->cpu];
	struct replay_thread *t = tid == cpu->tid ? cpu->thread : NULL;

	if (!t && tid != RAW_UNKNOWN)
		t = find_thread(r, tid);
	if (t) {
		if (comm.s)
			replay_name(r, t, &comm, pid, e);
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
	tell_task(r, t, TASK_SEEN, 0, e);
	return t;
}

static struct replay_thread *named_thread(struct replay *r, uint32_t tid, struct raw_text comm,
					  const struct raw_event *e)
{
	return thread_named(r, tid, RAW_UNKNOWN, comm, e);
}

struct replay_thread *replay_current(struct replay *r, const struct raw_event *e)
{
	const struct replay_cpu *cpu = &r->cpus.items[e->cpu];

	if (e->tid == RAW_UNKNOWN || e->tid == cpu->tid)
		return cpu->thread;
	return find_thread(r, e->tid);
}

/* What an event says of who had the CPU; a name that the tracer remembered may be an old one. */
static void meet_current(struct replay *r, const struct raw_event *e)
{
	if (!e->tid || e->tid == RAW_UNKNOWN)
		return;

	struct replay_thread *t = replay_current(r, e);

	if (!t) {
		t = thread_named(r, e->tid, e->pid, e->comm, e);
		t->named = false;
	}
	if ((e->comm.s && !t->named) || (e->pid != RAW_UNKNOWN && e->pid != t->pid)) {
		bool named = t->named;

		replay_name(r, t, &(struct raw_text){ named ? NULL : e->comm.s, e->comm.len },
			    e->pid, e);
		t->named = named;
	}
}

static struct replay_cpu *cpu_at(struct replay *r, uint16_t cpu)
{
	while (r->cpus.count <= cpu)
		*vec_push(&r->cpus) =
			(struct replay_cpu){ .tid = RAW_UNKNOWN, .switched = r->begin };
	return &r->cpus.items[cpu];
}

static void make_run(struct replay *r, const struct replay_thread *t, nsec_t end, uint32_t irq,
		     uint8_t flags)
{
	if (t->machine.since >= end)
		return;

	struct record_run *run = replay_make(r, RECORD_RUN, sizeof(*run), t->tid, t->cpu, end);

	machine_run(&t->machine, end, run);
	run->irq = irq;
	run->flags = flags;
}

/* flags as in the kernel's recorder: INTERVAL_OPEN, INTERVAL_UNSEEN. */
static void make_wait(struct replay *r, const struct replay_thread *t, uint16_t cpu, nsec_t end,
		      uint8_t flags)
{
	struct wait_site site = t->site;

	if (t->machine.since >= end)
		return;
	bool told = t->told.state && t->told.start == t->machine.since;

	if (told)
		site = t->told.site;
	else if (t->machine.phase == PHASE_UNKNOWN)
		site = (struct wait_site){ .syscall = SYSCALL_UNKNOWN, .kernel = t->kernel };

	struct record_wait *wait = replay_make(r, RECORD_WAIT, sizeof(*wait), t->tid, cpu, end);

	machine_wait(&t->machine, end, &site, flags & INTERVAL_OPEN, wait);
	wait->flags |= flags;
	if (told) {
		wait->state = t->told.state;
		wait->ready = t->told.ready;
	}
}

/* A trace that sonde exported tells what the thread waits on before it leaves its CPU. */
static void take_wait(struct replay *r, const struct raw_event *e)
{
	const uint8_t flags = INTERVAL_IOWAIT | INTERVAL_UNINTERRUPTIBLE | INTERVAL_SIGNAL;
	struct replay_thread *t = replay_thread(r, e->wait.tid, e);

	if (!t || !e->wait.state.len || !e->wait.ready.len)
		return;
	t->told = (struct told_wait){
		.start = e->time,
		.site = { .object = e->wait.object,
			  .syscall = e->wait.syscall,
			  .object_kind = e->wait.object_kind,
			  .flags = e->wait.flags & flags,
			  .kernel = t->kernel },
		.state = e->wait.state.s[0],
		.ready = e->wait.ready.s[0],
	};
}

static void make_exit(struct replay *r, struct replay_thread *t, const struct raw_event *e)
{
	struct record_exit *x = replay_make(r, RECORD_EXIT, sizeof(*x), t->tid, e->cpu, e->time);

	x->pid = t->pid;
	remove_thread(r, t);
}

/*
 * A thread leaves a CPU that it was not seen to get, since events are missing:
 * it got it no sooner than it was ready and than another was seen to get it.
 * Of who had it then nothing is known until he is seen again, with a CPU or
 * getting one; until then he stays PHASE_ON, of which no wait is made.
 */
static void enter_unseen(struct replay *r, struct replay_cpu *cpu, struct replay_thread *t,
			 const struct raw_event *e)
{
	nsec_t begin = cpu->switched;

	if (begin < t->machine.wake.time)
		begin = t->machine.wake.time;
	if (begin < t->machine.since)
		begin = t->machine.since;
	if (t->machine.phase == PHASE_UNKNOWN)
		t->machine.phase = PHASE_BLOCKED;
	if (t->machine.phase != PHASE_ON)
		make_wait(r, t, e->cpu, begin, INTERVAL_UNSEEN);
	machine_on(&t->machine, begin);
}

static bool is_dead(const struct replay_thread *t, uint64_t state)
{
	if (state & (RAW_STATE_DEAD | RAW_STATE_ZOMBIE))
		return true;
	return t->exiting && state & (RAW_STATE_PARKED | RAW_STATE_IDLE);
}

static void note_site(struct replay_thread *t, uint64_t state)
{
	t->site = (struct wait_site){ .kernel = t->kernel };
	t->site.flags = state & RAW_STATE_DISK ? INTERVAL_UNINTERRUPTIBLE : 0;
	t->site.stopped = (state & (RAW_STATE_STOPPED | RAW_STATE_TRACED)) != 0;
	replay_call_site(t, &t->site);
}

static void leave_cpu(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e)
{
	uint64_t state = e->sched_switch.state & RAW_STATE_ALL;
	struct replay_thread *t =
		named_thread(r, e->sched_switch.prev, e->sched_switch.prev_comm, e);

	if (!t)
		return;
	/* who leaves a CPU first, and was not woken, has had it from the begin on */
	if (cpu->thread != t &&
	    (cpu->tid != RAW_UNKNOWN || !machine_is_on(&t->machine) || t->machine.wake.time))
		enter_unseen(r, cpu, t, e);
	t->cpu = e->cpu;
	t->newborn = false;
	make_run(r, t, e->time, cpu->irq, 0);
	if (is_dead(t, state)) {
		make_exit(r, t, e);
		return;
	}
	if (state)
		note_site(t, state);
	machine_off(&t->machine, e->time, state ? PHASE_BLOCKED : PHASE_READY);
}

static void enter_cpu(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e)
{
	struct replay_thread *t =
		named_thread(r, e->sched_switch.next, e->sched_switch.next_comm, e);

	cpu->tid = e->sched_switch.next;
	cpu->thread = t;
	cpu->switched = e->time;
	cpu->irq = 0;
	cpu->irq_begin = 0;
	cpu->hrtimer = false;
	if (!t)
		return;
	if (t->machine.phase != PHASE_ON) /* else it was not seen to leave its last */
		make_wait(r, t, e->cpu, e->time, 0);
	t->cpu = e->cpu;
	t->newborn = false;
	machine_on(&t->machine, e->time);
}

static void make_wake(const struct replay_cpu *cpu, const struct raw_event *e, struct wake *wake)
{
	wake->time = e->time;
	wake->waker = e->tid != RAW_UNKNOWN ? e->tid : cpu->tid != RAW_UNKNOWN ? cpu->tid : 0;
	if (cpu->hrtimer) {
		wake->context = WAKE_HRTIMER;
	} else if (cpu->hardirq) {
		wake->context = WAKE_IRQ;
		wake->vector = cpu->hardirq - 1;
	} else if (cpu->softirq && cpu->softirq_tid == wake->waker) {
		wake->context = WAKE_SOFTIRQ;
		wake->vector = cpu->softirq - 1;
	} else if (e->context == RAW_IN_SOFTIRQ) {
		wake->context = WAKE_SOFTIRQ;
		wake->vector = VECTOR_UNKNOWN;
	} else if (e->context == RAW_IN_IRQ || !wake->waker) { /* the idle task wakes nobody */
		wake->context = WAKE_IRQ;
		wake->vector = VECTOR_UNKNOWN;
	} else {
		wake->context = WAKE_TASK;
	}
}

static void wake_thread(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e)
{
	struct replay_thread *t = named_thread(r, e->wake.tid, e->wake.comm, e);
	struct wake wake = { 0 };

	/* the end of a wakeup is told by another CPU, and later: only for want of its begin */
	if (!t || (e->kind == RAW_WAKEUP && has_any(r, BIT(RAW_WAKING))))
		return;
	make_wake(cpu, e, &wake);
	if (cpu->disk && wake.context != WAKE_TASK)
		t->site.flags |= INTERVAL_IOWAIT;
	machine_wake(&t->machine, &wake);
	replay_packet_wakes(r, cpu, t->tid, e);
}

enum { CLONE_THREAD_FLAG = 0x10000, CALL_CLONE = 56, CALL_CLONE3 = 435 };

/*
 * The process of a new thread.  Where the event does not say, the call does in
 * which its parent is: clone() by its argument; clone3(), whose arguments no
 * trace has, is how C libraries make threads.  A process that they make in that
 * way soon runs another program, and is told apart then.
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

static void fork_thread(struct replay *r, const struct raw_event *e)
{
	uint32_t creator = e->fork.parent != RAW_UNKNOWN ? e->fork.parent : e->tid;
	struct replay_thread *parent =
		creator == RAW_UNKNOWN ? replay_current(r, e) : replay_thread(r, creator, e);
	struct replay_thread *old = map_find_ptr(&r->tids, e->fork.child);

	if (!e->fork.child || e->fork.child == RAW_UNKNOWN ||
	    (old && old->newborn && old != parent))
		return; /* two tracepoints tell of one creation */
	if (old && old == parent)
		return;
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
	machine_begin(&t->machine, e->time, PHASE_READY);
	if (parent && parent->pid == t->pid)
		descriptors_share(t, parent);
	else if (parent)
		descriptors_copy(t, parent);
	tell_task(r, t, TASK_NEW, parent ? parent->tid : 0, e);
}

/* If a thread other than the first does it, it takes over the first one's tid. */
static void exec_program(struct replay *r, const struct raw_event *e)
{
	uint32_t tid = e->exec.tid != RAW_UNKNOWN ? e->exec.tid : e->tid;
	struct replay_thread *t = replay_thread(r, tid, e);
	struct replay_cpu *cpu = &r->cpus.items[e->cpu];

	if (!t)
		return;
	if (e->exec.old_tid != RAW_UNKNOWN && e->exec.old_tid != tid) {
		struct replay_thread *old = map_find_ptr(&r->tids, e->exec.old_tid);

		if (old) {
			make_run(r, old, e->time, cpu->irq, 0);
			struct record_exit *x =
				replay_make(r, RECORD_EXIT, sizeof(*x), old->tid, e->cpu, e->time);
			x->pid = old->pid;
			remove_thread(r, old);
		}
		machine_begin(&t->machine, e->time, PHASE_ON);
		cpu->thread = t;
		cpu->tid = tid;
	}
	if (e->exec.path.s) {
		const char *slash = memrchr(e->exec.path.s, '/', e->exec.path.len);
		const char *name = slash ? slash + 1 : e->exec.path.s;

		take_comm(t, &(struct raw_text){ name, e->exec.path.s + e->exec.path.len - name });
	}
	t->pid = tid;
	tell_task(r, t, TASK_EXEC, 0, e);
}

static void describe_task(struct replay *r, const struct raw_event *e)
{
	struct replay_thread *t = map_find_ptr(&r->tids, e->task.tid);

	if (!e->task.tid || e->task.tid == RAW_UNKNOWN)
		return;
	if (t) {
		t->kernel |= e->task.kernel == 1;
		replay_name(r, t, &e->task.comm, e->task.pid, e);
		return;
	}
	t = meet(r, e->task.tid, e);
	if (e->task.comm.s)
		take_comm(t, &e->task.comm);
	t->named = e->task.comm.s;
	if (e->task.pid != RAW_UNKNOWN)
		t->pid = e->task.pid;
	t->kernel = e->task.kernel == RAW_UNKNOWN ? has_kernel_name(t->comm) : e->task.kernel == 1;
	tell_task(r, t, TASK_SEEN, e->task.parent, e);
}

static void interrupt_begins(struct replay_cpu *cpu, const struct raw_event *e)
{
	if (!cpu->irq_begin)
		cpu->irq_begin = e->time;
}

static void interrupt_ends(struct replay_cpu *cpu, const struct raw_event *e)
{
	cpu->disk = false;
	if (cpu->hardirq || cpu->softirq || !cpu->irq_begin)
		return;
	cpu->irq += e->time - cpu->irq_begin;
	cpu->irq_begin = 0;
}

static void interrupt(struct replay_cpu *cpu, const struct raw_event *e)
{
	switch (e->kind) {
	case RAW_IRQ_ENTRY:
		interrupt_begins(cpu, e);
		cpu->hardirq = e->irq.number + 1;
		break;
	case RAW_IRQ_EXIT:
		cpu->hardirq = 0;
		interrupt_ends(cpu, e);
		break;
	case RAW_SOFTIRQ_ENTRY:
		interrupt_begins(cpu, e);
		cpu->softirq = e->irq.number + 1;
		cpu->softirq_tid = e->tid != RAW_UNKNOWN     ? e->tid
				   : cpu->tid != RAW_UNKNOWN ? cpu->tid
							     : 0;
		break;
	case RAW_SOFTIRQ_EXIT:
		cpu->softirq = 0;
		cpu->segment.object = 0;
		interrupt_ends(cpu, e);
		break;
	default:
		cpu->hrtimer = e->kind == RAW_HRTIMER_ENTRY;
		break;
	}
}

static void call(struct replay *r, const struct raw_event *e)
{
	struct replay_thread *t = replay_current(r, e);

	if (t && e->kind == RAW_SYSCALL_ENTER)
		replay_call_enter(r, t, e);
	else if (t)
		replay_call_exit(r, t, e);
}

static void announce_exit(struct replay *r, const struct raw_event *e)
{
	struct replay_thread *t = named_thread(r, e->wake.tid, e->wake.comm, e);

	if (!t)
		return;
	t->exiting = true;
	if (!has_any(r, BIT(RAW_SWITCH))) /* else its last switch is its end */
		make_exit(r, t, e);
}

static void about_threads(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e)
{
	switch (e->kind) {
	case RAW_SWITCH:
		leave_cpu(r, cpu, e);
		enter_cpu(r, cpu, e);
		break;
	case RAW_WAKING:
	case RAW_WAKEUP:
		wake_thread(r, cpu, e);
		break;
	case RAW_FORK:
		fork_thread(r, e);
		break;
	case RAW_EXEC:
		exec_program(r, e);
		break;
	case RAW_EXIT:
		announce_exit(r, e);
		break;
	case RAW_WAKEUP_NEW:
	case RAW_RENAME:
		named_thread(r, e->wake.tid, e->wake.comm, e);
		break;
	}
}

static void about_the_rest(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e)
{
	switch (e->kind) {
	case RAW_BLOCK_ISSUE:
		replay_block_issue(r, e);
		break;
	case RAW_BLOCK_COMPLETE:
		replay_block_complete(r, cpu, e);
		break;
	case RAW_PACKET_SEND:
	case RAW_PACKET_RECEIVE:
		replay_packet(r, cpu, e);
		break;
	case RAW_SOCKET_SEND:
	case RAW_SOCKET_RECEIVE:
	case RAW_TCP_RECEIVE:
		replay_message(r, e);
		break;
	case RAW_SOCKET_STATE:
		replay_socket_state(r, e);
		break;
	case RAW_SPAN_BEGIN:
		replay_span_begin(r, e);
		break;
	case RAW_SPAN_END:
		replay_span_end(r, e);
		break;
	case RAW_LOST:
		replay_lost(r, e);
		break;
	case RAW_WAIT:
		take_wait(r, e);
		break;
	case RAW_MESSAGE:
		replay_told_message(r, e);
		break;
	case RAW_PROCESS:
		replay_process(r, e);
		break;
	default:
		replay_hit(r, e);
		break;
	}
}

void replay_event(struct replay *r, const struct raw_event *e)
{
	if (!r->has_begun)
		r->begin = e->time;
	r->has_begun = true;
	r->now = e->time;
	r->seen |= BIT(e->kind);
	r->has_context |= e->context != RAW_CONTEXT_UNKNOWN;
	r->has_pids |= e->pid != RAW_UNKNOWN;

	struct replay_cpu *cpu = cpu_at(r, e->cpu);

	meet_current(r, e);
	if (e->kind >= RAW_SWITCH && e->kind <= RAW_RENAME)
		about_threads(r, cpu, e);
	else if (e->kind >= RAW_IRQ_ENTRY && e->kind <= RAW_HRTIMER_EXIT)
		interrupt(cpu, e);
	else if (e->kind == RAW_SYSCALL_ENTER || e->kind == RAW_SYSCALL_EXIT)
		call(r, e);
	else if (e->kind == RAW_TASK)
		describe_task(r, e);
	else
		about_the_rest(r, cpu, e);
}

static void end_thread(struct replay *r, struct replay_thread *t)
{
	const struct replay_cpu *cpu = t->cpu < r->cpus.count ? &r->cpus.items[t->cpu] : NULL;

	if (t->machine.phase != PHASE_ON && has_any(r, BIT(RAW_SWITCH)))
		make_wait(r, t, t->cpu, r->now, INTERVAL_OPEN);
	else if (cpu && cpu->thread == t)
		make_run(r, t, r->now, cpu->irq, INTERVAL_OPEN);
	replay_call_end(r, t);
}

void replay_end(struct replay *r)
{
	uint64_t key, value;

	for (size_t pos = 0; map_next(&r->tids, &pos, &key, &value);)
		end_thread(r, (void *)(uintptr_t)value);
}

/* The words for one thing that a trace lacks are put behind those for the others. */
static char *also(char *list, const char *words)
{
	_cleanup_(freep) char *before = list;

	return before ? must_printf("%s; %s", before, words) : must_printf("has %s", words);
}

char *replay_lacks(const struct replay *r)
{
	static const uint32_t waking = BIT(RAW_WAKING) | BIT(RAW_WAKEUP);
	static const uint32_t interrupts =
		BIT(RAW_IRQ_ENTRY) | BIT(RAW_SOFTIRQ_ENTRY) | BIT(RAW_HRTIMER_ENTRY);
	static const uint32_t calls = BIT(RAW_SYSCALL_ENTER) | BIT(RAW_SYSCALL_EXIT);
	char *list = NULL;

	if (!r->has_begun || (r->seen & ~(BIT(RAW_SPAN_BEGIN) | BIT(RAW_SPAN_END))) == 0)
		return NULL;
	if (!has_any(r, BIT(RAW_SWITCH)))
		return also(NULL,
			    "no sched_switch, so nothing is known of what threads waited for");
	if (!has_any(r, waking))
		list = also(list, "no sched_waking, so nobody is known to have ended a wait");
	else if (!has_any(r, interrupts) && !r->has_context)
		list = also(list, "no interrupts, so who is said to have woken a thread may just "
				  "have been interrupted");
	if (!has_any(r, calls))
		list = also(list, "no system calls, so some waits are only told as blocked");
	if (!r->has_pids && !has_any(r, BIT(RAW_TASK)))
		list = also(list, "no processes, so threads may stand alone that are of one");
	return list;
}
