/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_sched - who has a CPU, who waits, and who wakes whom: what
 * bpf/sched.bpf.h and bpf/irq.bpf.h are in the kernel.
 */
#include "read/replay/internal.h"

void replay_run(struct replay *r, const struct replay_thread *t, nsec_t end, uint32_t irq,
		uint8_t flags)
{
	if (t->state.since >= end)
		return;

	struct record_run *run = replay_make(r, RECORD_RUN, sizeof(*run), t->tid, t->cpu, end);

	thread_state_fill_run(&t->state, end, run);
	run->irq = irq;
	run->flags = flags;
}

/* flags as in the kernel's recorder: INTERVAL_OPEN, INTERVAL_END_HIDDEN. */
static void make_wait(struct replay *r, const struct replay_thread *t, uint16_t cpu, nsec_t end,
		      uint8_t flags)
{
	struct wait_site site = t->site;

	if (t->state.since >= end)
		return;
	bool told = t->told.state && t->told.start == t->state.since;

	if (told)
		site = t->told.site;
	else if (t->state.phase == PHASE_UNKNOWN)
		site = (struct wait_site){ .syscall = SYSCALL_UNKNOWN, .kernel = t->kernel };

	struct record_wait *wait = replay_make(r, RECORD_WAIT, sizeof(*wait), t->tid, cpu, end);

	thread_state_fill_wait(&t->state, end, &site, flags & INTERVAL_OPEN, wait);
	wait->flags |= flags;
	if (told) {
		wait->state = t->told.state;
		wait->ready = t->told.ready;
	}
}

/* A trace that sonde exported tells what the thread waits on before it leaves its CPU. */
void replay_told_wait(struct replay *r, const struct raw_event *e)
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

	if (begin < t->state.wake.time)
		begin = t->state.wake.time;
	if (begin < t->state.since)
		begin = t->state.since;
	if (t->state.phase == PHASE_UNKNOWN)
		t->state.phase = PHASE_BLOCKED;
	if (t->state.phase != PHASE_ON)
		make_wait(r, t, e->cpu, begin, INTERVAL_END_HIDDEN);
	thread_state_enter_cpu(&t->state, begin);
}

static bool is_dead(const struct replay_thread *t, uint64_t state)
{
	if (state & (RAW_STATE_DEAD | RAW_STATE_ZOMBIE))
		return true;
	/* neither parks nor idles, but 64 or 128 may be "dead" in a numbering that is unknown */
	return t->exiting && (state == RAW_STATE_PARKED || state == RAW_STATE_IDLE);
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
	uint64_t state = raw_state_read(&r->source->states, e->sched_switch.state,
					e->sched_switch.prev == 0);

	cpu->gone = 0;

	struct replay_thread *t =
		replay_named(r, e->sched_switch.prev, e->sched_switch.prev_comm, e);

	if (!t)
		return;
	/* who leaves a CPU first, and was not woken, has had it from the begin on */
	if (cpu->thread != t &&
	    (cpu->tid != RAW_UNKNOWN || !thread_state_is_on(&t->state) || t->state.wake.time))
		enter_unseen(r, cpu, t, e);
	t->cpu = e->cpu;
	t->newborn = false;
	replay_run(r, t, e->time, cpu->irq, 0);
	if (is_dead(t, state)) {
		cpu->gone = t->tid;
		replay_exit(r, t, e);
		return;
	}
	if (state)
		note_site(t, state);
	thread_state_leave_cpu(&t->state, e->time, state ? PHASE_BLOCKED : PHASE_READY);
}

static void enter_cpu(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e)
{
	struct replay_thread *t =
		replay_named(r, e->sched_switch.next, e->sched_switch.next_comm, e);

	cpu->tid = e->sched_switch.next;
	cpu->thread = t;
	cpu->switched = e->time;
	cpu->irq = 0;
	cpu->irq_begin = 0;
	cpu->hrtimer = false;
	if (!t)
		return;
	if (t->state.phase != PHASE_ON) /* else it was not seen to leave its last */
		make_wait(r, t, e->cpu, e->time, 0);
	t->cpu = e->cpu;
	t->newborn = false;
	thread_state_enter_cpu(&t->state, e->time);
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

void replay_wake(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e)
{
	struct replay_thread *t = replay_named(r, e->wake.tid, e->wake.comm, e);
	struct wake wake = { 0 };

	/* the end of a wakeup is told by another CPU, and later: only for want of its begin */
	if (!t || (e->kind == RAW_WAKEUP && replay_has(r, REPLAY_BIT(RAW_WAKING))))
		return;
	make_wake(cpu, e, &wake);
	if (cpu->disk && wake.context != WAKE_TASK)
		t->site.flags |= INTERVAL_IOWAIT;
	thread_state_wake(&t->state, &wake);
	replay_packet_wakes(r, cpu, t->tid, e);
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

void replay_interrupt(struct replay_cpu *cpu, const struct raw_event *e)
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

void replay_switch(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e)
{
	r->switches++;
	/* that the idle task leaves unseen does not matter, and some machines hide it */
	r->unseen += cpu->tid && cpu->tid != RAW_UNKNOWN && cpu->tid != e->sched_switch.prev;
	leave_cpu(r, cpu, e);
	enter_cpu(r, cpu, e);
}

void replay_finish(struct replay *r, struct replay_thread *t)
{
	const struct replay_cpu *cpu = t->cpu < r->cpus.count ? &r->cpus.items[t->cpu] : NULL;

	if (t->state.phase != PHASE_ON && replay_has(r, REPLAY_BIT(RAW_SWITCH)))
		make_wait(r, t, t->cpu, r->now, INTERVAL_OPEN);
	else if (cpu && cpu->thread == t)
		replay_run(r, t, r->now, cpu->irq, INTERVAL_OPEN);
	replay_call_end(r, t);
}
