/* SPDX-License-Identifier: Apache-2.0 OR (BSD-2-Clause OR GPL-2.0-only) */
/*
 * thread_state - the state machine that turns scheduler events into intervals.
 *
 * Compiled twice: into the kernel programs, where it runs at every context
 * switch, and into the replay of foreign traces.  So both produce the same
 * records from the same events; they differ only in where they find the data.
 *
 * A thread is on a CPU or off it.  When it leaves the CPU, a RUN ends; when it
 * gets a CPU again, a WAIT ends, which has a blocked and a runnable part,
 * divided by the wakeup.  Together, RUN and WAIT cover the thread's life without
 * gap or overlap.
 *
 * In the kernel, the wakeup happens on another CPU and can overtake the
 * switch-out, because the thread is still on its way to sleep.  So
 * thread_state_wake() only stores the wakeup.  The thread's next switch-in, which
 * the scheduler orders after both, evaluates it: a wakeup from before the
 * switch-out means that the thread never slept.
 *
 * A wait gets its state letter when it ends, from two pieces of evidence: where
 * the thread blocked (system call, and the object behind its file descriptor) and
 * what woke it (a thread, or which interrupt).
 */
#ifndef SONDE_EVENT_THREAD_STATE_H
#define SONDE_EVENT_THREAD_STATE_H

#include "event/event.h"
#include "event/futex.h"
#include "event/syscall_table.h"
#include "event/wakeup.h"

enum phase {
	PHASE_UNKNOWN,   /* newly discovered; the first scheduler event decides */
	PHASE_ON,        /* on a CPU */
	PHASE_BLOCKED,   /* left the CPU to wait for something */
	PHASE_READY,     /* preempted, still runnable */
	PHASE_THROTTLED, /* preempted because the quota of its cgroup is used up */
};

struct thread_state {
	__u64 since; /* start of the phase, ns */
	struct wake wake;
	__u32 phase;
	__u32 pad;
};

/* Where a thread blocks. */
struct wait_site {
	__u64 object;
	__s16 syscall;
	__u8 object_kind;
	__u8 flags;                 /* INTERVAL_IOWAIT, _UNINTERRUPTIBLE, _CONDVAR, _STOPPED */
	__u8 kernel;                /* whether it is a kernel thread */
	__u8 futex_op, futex_value; /* as in struct record_wait */
	__u8 memory;
};

#define SYSCALL_CLASS_(nr, name, class) [nr] = SYSCALL_##class,
static const __u8 syscall_classes[SYSCALL_TABLE_SIZE] = { SYSCALL_TABLE(SYSCALL_CLASS_) };
#undef SYSCALL_CLASS_

static inline enum syscall_class syscall_class_of(int nr)
{
	__u64 index = (__u32)nr;

	if (index >= SYSCALL_TABLE_SIZE)
		return SYSCALL_OTHER;
	__asm__ volatile("" : "+r"(index)); /* older verifiers need the bound in this register */
	return syscall_classes[index & (SYSCALL_TABLE_SIZE - 1)];
}

/* Sets what the second and third argument of futex() show of a wait. */
static inline void site_set_futex(struct wait_site *site, __u64 op, __u32 value)
{
	site->futex_op = op;
	site->futex_value = value < 255 ? value : 255;
	if (futex_is_condvar(op, site->futex_value))
		site->flags |= INTERVAL_CONDVAR;
}

/* The state that the interrupt which ended the wait implies; 0 if it implies none. */
static inline enum state state_by_interrupt(const struct wake *wake)
{
	if (wake->context == WAKE_HRTIMER)
		return STATE_TIMER;
	if (wake->context != WAKE_SOFTIRQ)
		return 0;
	switch (wake->vector) {
	case VECTOR_TIMER:
	case VECTOR_HRTIMER:
		return STATE_TIMER;
	case VECTOR_NET_TX:
	case VECTOR_NET_RX:
		return STATE_NETWORK;
	case VECTOR_BLOCK:
	case VECTOR_IRQ_POLL:
		return STATE_DISK;
	default:
		return 0;
	}
}

/* The state that the object behind a file descriptor implies; 0 if it implies none. */
static inline enum state state_by_object(__u8 object_kind)
{
	switch (object_kind) {
	case OBJECT_FILE:
	case OBJECT_DIRECTORY:
	case OBJECT_BLOCK_DEVICE:
		return STATE_DISK;
	case OBJECT_INET:
	case OBJECT_SOCKET:
		return STATE_NETWORK;
	case OBJECT_UNIX:
	case OBJECT_PIPE:
	case OBJECT_EVENTFD:
	case OBJECT_SIGNALFD:
	case OBJECT_INOTIFY:
		return STATE_PROCESS;
	case OBJECT_TIMERFD:
		return STATE_TIMER;
	case OBJECT_TTY:
	case OBJECT_INPUT:
		return STATE_USER;
	default:
		return 0;
	}
}

/* The state that the system call implies on its own; 0 if it implies none. */
static inline enum state state_by_syscall(const struct wait_site *site)
{
	switch (syscall_class_of(site->syscall)) {
	case SYSCALL_SLEEP:
		return STATE_TIMER;
	case SYSCALL_LOCK:
		return STATE_LOCK;
	case SYSCALL_PROCESS:
		return STATE_PROCESS;
	case SYSCALL_DESCRIPTOR:
		return state_by_object(site->object_kind);
	case SYSCALL_PATH:
		return site->flags & INTERVAL_UNINTERRUPTIBLE ? STATE_DISK : 0;
	default:
		return 0;
	}
}

/* Whether a thread waits for something that another thread holds, even if a timer ends the wait. */
static inline int site_is_lock(const struct wait_site *site)
{
	if (syscall_class_of(site->syscall) != SYSCALL_LOCK)
		return 0;
	return site->object_kind != OBJECT_FUTEX ||
	       futex_is_lock(site->futex_op, site->futex_value);
}

/*
 * The state of a finished wait.  A timer outranks the system call, because a wait
 * with an expired timeout was a wait for the timer, whatever the call.  Only a lock
 * stays a lock: a thread that tries to get it for some time waits for its holder.
 * I/O wait outranks the timer, because timers release throttled I/O.  io_uring sets
 * I/O wait for network operations too, so its calls ignore it.
 */
static inline enum state wait_state(const struct wait_site *site, const struct wake *wake)
{
	enum state by_interrupt = state_by_interrupt(wake), by_syscall;

	if (site->flags & INTERVAL_STOPPED)
		return STATE_PROCESS;
	if (site->flags & INTERVAL_IOWAIT && syscall_class_of(site->syscall) != SYSCALL_POLL)
		return STATE_DISK;
	if (by_interrupt == STATE_TIMER && !site_is_lock(site))
		return STATE_TIMER;
	by_syscall = state_by_syscall(site);
	if (by_syscall)
		return by_syscall;
	if (by_interrupt)
		return by_interrupt;
	if (wake->context != WAKE_TASK)
		return STATE_UNKNOWN;
	/* a thread ended a sleep that signals cannot end: a lock in the kernel */
	if (site->flags & INTERVAL_UNINTERRUPTIBLE && !site->kernel)
		return STATE_LOCK;
	return STATE_PROCESS;
}

/* Tracing of the thread begins at now. */
static inline void thread_state_begin(struct thread_state *s, __u64 now, enum phase phase)
{
	s->since = now;
	s->wake.time = 0;
	s->phase = phase;
}

static inline void thread_state_wake(struct thread_state *s, const struct wake *wake)
{
	/* only the first wakeup of a sleep ends it */
	if (s->phase == PHASE_BLOCKED && s->wake.time >= s->since && s->wake.time)
		return;
	s->wake = *wake;
}

/* Whether the thread can be on a CPU, as far as its own events show. */
static inline int thread_state_is_on(const struct thread_state *s)
{
	return s->phase == PHASE_ON || s->phase == PHASE_UNKNOWN;
}

/* The thread leaves the CPU: fill in its RUN, which must be zeroed. */
static inline void thread_state_fill_run(const struct thread_state *s, __u64 now,
					 struct record_run *run)
{
	run->head.time = now;
	run->start = s->since;
}

static inline void thread_state_leave_cpu(struct thread_state *s, __u64 now, enum phase phase)
{
	s->since = now;
	s->phase = phase;
}

/*
 * The thread gets a CPU (or, with open, the recording ends first): fill in its
 * WAIT, except for the thread, the CPU and the stacks.
 */
static inline void thread_state_fill_wait(const struct thread_state *s, __u64 now,
					  const struct wait_site *site, int open,
					  struct record_wait *wait)
{
	struct wake wake = s->wake;
	int woken = wake.time != 0;
	int blocked = s->phase == PHASE_BLOCKED || (s->phase == PHASE_UNKNOWN && (woken || open));

	wait->head.time = now;
	wait->start = s->since;
	wait->woken = s->since;
	wait->ready = s->phase == PHASE_THROTTLED ? STATE_THROTTLED : STATE_READY;
	wait->flags = open ? INTERVAL_OPEN : 0;
	wait->state = STATE_UNKNOWN;
	wait->syscall = SYSCALL_NONE;
	wait->waker = 0;
	wait->context = WAKE_NONE;
	wait->vector = 0;
	wait->object = 0;
	wait->object_kind = OBJECT_NONE;
	wait->futex_op = wait->futex_value = 0;
	wait->memory = MEMORY_ENOUGH;
	if (!blocked) {
		wait->flags |= INTERVAL_PREEMPTED;
		return;
	}
	if (!woken) {
		wake.context = WAKE_NONE;
		wait->woken = now;
	} else {
		wait->waker = wake.waker;
		wait->context = wake.context;
		wait->vector = wake.vector;
		if (wake.time > s->since)
			wait->woken = wake.time < now ? wake.time : now;
	}
	wait->state = wait_state(site, &wake);
	wait->syscall = site->syscall;
	wait->object = site->object;
	wait->object_kind = site->object_kind;
	wait->flags |= site->flags;
	wait->futex_op = site->futex_op;
	wait->futex_value = site->futex_value;
	wait->memory = site->memory;
}

/*
 * The thread gets a CPU at now.  Its WAIT up to now has to be filled in before.
 */
static inline void thread_state_enter_cpu(struct thread_state *s, __u64 now)
{
	s->since = now;
	s->wake.time = 0;
	s->phase = PHASE_ON;
}

/*
 * Whether a thread that leaves a CPU got it in a switch that was hidden from
 * tracing: its last known phase is off the CPU, or it was discovered before
 * `begin`, the earliest time at which it can have got this CPU.
 */
static inline int thread_state_missed_switch_in(const struct thread_state *s, __u64 begin)
{
	return !thread_state_is_on(s) || (s->phase == PHASE_UNKNOWN && begin > s->since);
}

/*
 * When the thread got a CPU in a hidden switch: at `begin` at the earliest, but
 * not before the thread was woken nor before its last known phase began.  A
 * newly discovered thread was blocked until then, at an unknown site.
 *
 * The caller then fills in the WAIT up to that time, with INTERVAL_END_HIDDEN, and
 * calls thread_state_enter_cpu().  If the phase is PHASE_ON, the switch-out from
 * another CPU was hidden as well, and there is no WAIT.
 */
static inline __u64 thread_state_hidden_switch_in(struct thread_state *s, __u64 begin)
{
	if (begin < s->wake.time)
		begin = s->wake.time;
	if (begin < s->since)
		begin = s->since;
	if (s->phase == PHASE_UNKNOWN)
		s->phase = PHASE_BLOCKED;
	return begin;
}

#endif
