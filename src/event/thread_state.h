/* SPDX-License-Identifier: Apache-2.0 OR (BSD-2-Clause OR GPL-2.0-only) */
/*
 * machine - how scheduler events become intervals of a thread.
 *
 * Compiled twice: into the kernel programs, where it runs at every context
 * switch, and into user space, where the raw events of foreign traces run
 * through it.  So both give the same records for the same events.
 *
 * A thread is on a CPU or off it.  Leaving the CPU finishes a RUN; getting it
 * back finishes a WAIT, which has a blocked part and a runnable part, divided
 * by the wakeup.  Together they tile the thread's life.
 *
 * In the kernel the wakeup comes from another CPU and may overtake the
 * switch-out it answers, since the sleeper is still on its way to sleep.  That
 * is why a wakeup only leaves a note (thread_state_wake) and the thread's own next
 * switch-in, which the scheduler orders behind both, draws the conclusions.  A
 * note from before the switch-out then says that the thread never really slept.
 *
 * A wait takes its letter when it ends, from two witnesses: where the thread
 * was (system call, and what its file descriptor stands for) and how it was
 * woken (by a thread, or from which interrupt).
 */
#ifndef SONDE_EVENT_THREAD_STATE_H
#define SONDE_EVENT_THREAD_STATE_H

#include "event/event.h"
#include "event/syscall_table.h"

enum phase {
	PHASE_UNKNOWN,   /* just came into view: the first event tells */
	PHASE_ON,        /* has a CPU */
	PHASE_BLOCKED,   /* gave it up to wait for something */
	PHASE_READY,     /* lost it, but could go on */
	PHASE_THROTTLED, /* lost it because its group's quota is used up */
};

struct wake {
	__u64 time; /* 0: none since the thread last had a CPU */
	__u32 waker;
	__u16 vector;
	__u8 context; /* enum wake_context */
	__u8 pad;
};

struct thread_state {
	__u64 since; /* begin of the phase */
	struct wake wake;
	__u32 phase;
	__u32 pad;
};

/* Where a thread is while it waits. */
struct wait_site {
	__u64 object;
	__s16 syscall;
	__u8 object_kind;
	__u8 flags;   /* INTERVAL_IOWAIT, INTERVAL_UNINTERRUPTIBLE, INTERVAL_SIGNAL */
	__u8 stopped; /* by a signal or a tracer */
	__u8 kernel;  /* a kernel thread */
	__u8 pad[2];
};

#define SYSCALL_CLASS_(nr, name, class) [nr] = SYSCALL_##class,
static const __u8 syscall_classes[SYSCALL_TABLE_SIZE] = { SYSCALL_TABLE(SYSCALL_CLASS_) };
#undef SYSCALL_CLASS_

static inline enum syscall_class syscall_class_of(int nr)
{
	__u64 index = (__u32)nr;

	if (index >= SYSCALL_TABLE_SIZE)
		return SYSCALL_OTHER;
	__asm__ volatile("" : "+r"(index)); /* older verifiers have to see the bound, here */
	return syscall_classes[index & (SYSCALL_TABLE_SIZE - 1)];
}

/*
 * Whether a wait in futex() is to be signalled and not for a lock: C libraries
 * take locks by FUTEX_WAIT and wait for conditions and semaphores by
 * FUTEX_WAIT_BITSET.  op is the call's second argument.
 */
static inline int futex_is_signal(__u64 op)
{
	return (op & 127) == 9;
}

/* What the interrupt that woke a thread says of its wait; 0 if nothing. */
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

/* What the thing behind a file descriptor says; 0 if nothing. */
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

/* What the system call says on its own; 0 if it takes more to know. */
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

/*
 * The letter of a finished wait.  A timer comes first, because a wait with a
 * timeout that ran out was a wait for the timer whatever the call; but I/O wait
 * comes before it, as throttled I/O is released by timers.  io_uring sets I/O
 * wait for network requests too, so there it means nothing.
 */
static inline enum state wait_state(const struct wait_site *site, const struct wake *wake)
{
	enum state by_interrupt = state_by_interrupt(wake), by_syscall;

	if (site->stopped)
		return STATE_PROCESS;
	if (site->flags & INTERVAL_IOWAIT && syscall_class_of(site->syscall) != SYSCALL_POLL)
		return STATE_DISK;
	if (by_interrupt == STATE_TIMER)
		return STATE_TIMER;
	by_syscall = state_by_syscall(site);
	if (by_syscall)
		return by_syscall;
	if (by_interrupt)
		return by_interrupt;
	if (wake->context != WAKE_TASK)
		return STATE_BLOCKED;
	/* woken by a thread out of a sleep that signals do not end: a lock in the kernel */
	if (site->flags & INTERVAL_UNINTERRUPTIBLE && !site->kernel)
		return STATE_LOCK;
	return STATE_PROCESS;
}

/* The thread comes into view at now, in a phase that may be unknown. */
static inline void thread_state_begin(struct thread_state *m, __u64 now, enum phase phase)
{
	m->since = now;
	m->wake.time = 0;
	m->phase = phase;
}

/* Somebody wakes the thread. */
static inline void thread_state_wake(struct thread_state *m, const struct wake *wake)
{
	/* only the first wakeup of a sleep counts */
	if (m->phase == PHASE_BLOCKED && m->wake.time >= m->since && m->wake.time)
		return;
	m->wake = *wake;
}

/* Whether leaving the CPU now would finish a RUN that was seen from its begin. */
static inline int thread_state_is_on(const struct thread_state *m)
{
	return m->phase == PHASE_ON || m->phase == PHASE_UNKNOWN;
}

/* The thread leaves the CPU: fill in its RUN, which must be zeroed, if thread_state_is_on(). */
static inline void thread_state_fill_run(const struct thread_state *m, __u64 now,
					 struct record_run *run)
{
	run->head.time = now;
	run->start = m->since;
}

static inline void thread_state_leave_cpu(struct thread_state *m, __u64 now, enum phase phase)
{
	m->since = now;
	m->phase = phase;
}

/*
 * The thread gets a CPU back (or, with open, recording ends before it does):
 * fill in everything of its WAIT but identity, cpu and stacks.
 */
static inline void thread_state_fill_wait(const struct thread_state *m, __u64 now,
					  const struct wait_site *site, int open,
					  struct record_wait *wait)
{
	struct wake wake = m->wake;
	int woken = wake.time != 0;
	int blocked = m->phase == PHASE_BLOCKED || (m->phase == PHASE_UNKNOWN && (woken || open));

	wait->head.time = now;
	wait->start = m->since;
	wait->woken = m->since;
	wait->ready = m->phase == PHASE_THROTTLED ? STATE_THROTTLED : STATE_READY;
	wait->flags = open ? INTERVAL_OPEN : 0;
	wait->state = STATE_BLOCKED;
	wait->syscall = SYSCALL_NONE;
	wait->waker = 0;
	wait->context = WAKE_NONE;
	wait->vector = 0;
	wait->object = 0;
	wait->object_kind = OBJECT_NONE;
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
		if (wake.time > m->since)
			wait->woken = wake.time < now ? wake.time : now;
	}
	wait->state = wait_state(site, &wake);
	wait->syscall = site->syscall;
	wait->object = site->object;
	wait->object_kind = site->object_kind;
	wait->flags |= site->flags;
}

static inline void thread_state_enter_cpu(struct thread_state *m, __u64 now)
{
	m->since = now;
	m->wake.time = 0;
	m->phase = PHASE_ON;
}

#endif
