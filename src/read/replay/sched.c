/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scheduling and interrupts in a trace: the counterpart of bpf/sched.bpf.h and
 * bpf/irq.bpf.h, with the same rules (event/thread_state.h, event/wakeup.h).
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

/* flags: INTERVAL_OPEN if the trace ends before the wait, or INTERVAL_END_HIDDEN. */
static void make_wait(struct replay *r, const struct replay_thread *t, uint16_t cpu, nsec_t end,
		      uint8_t flags)
{
	struct wait_site site = t->site;

	if (t->state.since >= end)
		return;
	bool exported = t->exported.state && t->exported.start == t->state.since;

	if (exported)
		site = t->exported.site;
	else if (t->state.phase == PHASE_UNKNOWN)
		site = (struct wait_site){ .syscall = SYSCALL_UNKNOWN, .kernel = t->kernel };

	struct record_wait *wait = replay_make(r, RECORD_WAIT, sizeof(*wait), t->tid, cpu, end);

	thread_state_fill_wait(&t->state, end, &site, flags & INTERVAL_OPEN, wait);
	wait->flags |= flags;
	if (exported) {
		wait->state = t->exported.state;
		wait->ready = t->exported.ready;
	}
}

/* A trace that sonde exported contains what a thread waits on, before its switch-out. */
void replay_exported_wait(struct replay *r, const struct raw_event *e)
{
	const uint8_t flags =
		INTERVAL_IOWAIT | INTERVAL_UNINTERRUPTIBLE | INTERVAL_CONDVAR | INTERVAL_STOPPED;
	struct replay_thread *t = replay_thread(r, e->wait.tid, e);

	if (!t || !e->wait.state.len || !e->wait.ready.len)
		return;
	t->exported = (struct exported_wait){
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
 * Whether a thread leaves a CPU that it got in a switch which is missing from
 * the trace.  The first thread that leaves a CPU has had it since the trace began,
 * unless the thread was woken or seen off the CPU meanwhile.
 */
static bool missed_switch_in(const struct replay_cpu *cpu, const struct replay_thread *t)
{
	if (cpu->thread == t)
		return false;
	if (cpu->tid != RAW_UNKNOWN || t->state.wake.time)
		return true;
	return thread_state_missed_switch_in(&t->state, 0);
}

/*
 * The thread got the CPU after the last known switch to another thread.  The
 * switch-out of that other thread is missing: it stays PHASE_ON, which makes no
 * wait, until its next event.
 */
static void enter_hidden(struct replay *r, const struct replay_cpu *cpu, struct replay_thread *t,
			 const struct raw_event *e)
{
	nsec_t begin = thread_state_hidden_switch_in(&t->state, cpu->switched);

	if (t->state.phase != PHASE_ON)
		make_wait(r, t, e->cpu, begin, INTERVAL_END_HIDDEN);
	thread_state_enter_cpu(&t->state, begin);
}

static bool is_dead(const struct replay_thread *t, uint64_t state)
{
	if (state & (RAW_STATE_DEAD | RAW_STATE_ZOMBIE))
		return true;
	/* an exiting thread neither parks nor idles: an unknown numbering has dead at 64 or 128 */
	return t->exiting && (state == RAW_STATE_PARKED || state == RAW_STATE_IDLE);
}

static void note_site(struct replay_thread *t, uint64_t state)
{
	t->site = (struct wait_site){ .kernel = t->kernel };
	t->site.flags = state & RAW_STATE_DISK ? INTERVAL_UNINTERRUPTIBLE : 0;
	if (state & (RAW_STATE_STOPPED | RAW_STATE_TRACED))
		t->site.flags |= INTERVAL_STOPPED;
	replay_call_site(t, &t->site);
}

static void leave_cpu(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e)
{
	uint64_t state = raw_state_read(&r->source->states, e->sched_switch.state,
					e->sched_switch.prev == 0);

	cpu->exited_tid = 0;

	struct replay_thread *t =
		replay_named_thread(r, e->sched_switch.prev, e->sched_switch.prev_comm, e);

	if (!t)
		return;
	if (missed_switch_in(cpu, t))
		enter_hidden(r, cpu, t, e);
	t->cpu = e->cpu;
	t->newborn = false;
	replay_run(r, t, e->time, cpu->irq, 0);
	if (is_dead(t, state)) {
		cpu->exited_tid = t->tid;
		replay_thread_exit(r, t, e);
		return;
	}
	if (state)
		note_site(t, state);
	thread_state_leave_cpu(&t->state, e->time, state ? PHASE_BLOCKED : PHASE_READY);
}

static void enter_cpu(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e)
{
	struct replay_thread *t =
		replay_named_thread(r, e->sched_switch.next, e->sched_switch.next_comm, e);

	cpu->tid = e->sched_switch.next;
	cpu->thread = t;
	cpu->switched = e->time;
	cpu->irq = 0;
	cpu->irq_begin = 0;
	cpu->hrtimer = false;
	if (!t)
		return;
	if (t->state.phase != PHASE_ON) /* otherwise its last switch-out is missing */
		make_wait(r, t, e->cpu, e->time, 0);
	t->cpu = e->cpu;
	t->newborn = false;
	thread_state_enter_cpu(&t->state, e->time);
}

static uint32_t current_tid(const struct replay_cpu *cpu, const struct raw_event *e)
{
	if (e->tid != RAW_UNKNOWN)
		return e->tid;
	return cpu->tid != RAW_UNKNOWN ? cpu->tid : 0;
}

static void set_waker(const struct replay_cpu *cpu, const struct raw_event *e, struct wake *wake)
{
	static const uint8_t untraced[] = {
		[RAW_IN_SOFTIRQ] = WAKE_SOFTIRQ, [RAW_IN_IRQ] = WAKE_IRQ
	};

	wake_set_waker(wake, &(struct waking_cpu){
				     .tid = current_tid(cpu, e),
				     .hardirq = cpu->hardirq,
				     .softirq = cpu->softirq,
				     .softirq_tid = cpu->softirq_tid,
				     .hrtimer = cpu->hrtimer,
				     .untraced = untraced[e->context],
			     });
}

void replay_wake(struct replay *r, struct replay_cpu *cpu, const struct raw_event *e)
{
	struct replay_thread *t = replay_named_thread(r, e->wake.tid, e->wake.comm, e);
	struct wake wake = { .time = e->time };

	/* sched_wakeup can come later and from another CPU than sched_waking */
	if (!t || (e->kind == RAW_WAKEUP && replay_has(r, REPLAY_BIT(RAW_WAKING))))
		return;
	set_waker(cpu, e, &wake);
	if (cpu->disk && wake.context != WAKE_TASK)
		t->site.flags |= INTERVAL_IOWAIT;
	thread_state_wake(&t->state, &wake);
	replay_packet_received(r, cpu, t->tid, e);
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
		cpu->softirq_tid = current_tid(cpu, e);
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
	/* missing switches of the idle task do no harm, and some virtual machines hide them */
	r->hidden_switches +=
		cpu->tid && cpu->tid != RAW_UNKNOWN && cpu->tid != e->sched_switch.prev;
	leave_cpu(r, cpu, e);
	enter_cpu(r, cpu, e);
}

void replay_thread_finish(struct replay *r, struct replay_thread *t)
{
	const struct replay_cpu *cpu = t->cpu < r->cpus.count ? &r->cpus.items[t->cpu] : NULL;

	if (t->state.phase != PHASE_ON && replay_has(r, REPLAY_BIT(RAW_SWITCH)))
		make_wait(r, t, t->cpu, r->now, INTERVAL_OPEN);
	else if (cpu && cpu->thread == t)
		replay_run(r, t, r->now, cpu->irq, INTERVAL_OPEN);
	replay_call_finish(r, t);
}
