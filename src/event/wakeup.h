/* SPDX-License-Identifier: Apache-2.0 OR (BSD-2-Clause OR GPL-2.0-only) */
/*
 * wakeup - which thread or interrupt woke a thread.
 *
 * The thread that is current on the waking CPU is not always the waker: an
 * interrupt runs on top of whatever thread it interrupts.  The innermost
 * interrupt counts, because its code calls the wakeup: a timer function runs
 * inside a device interrupt, which can in turn interrupt a softirq.
 *
 * Compiled into the kernel programs and into the replay of foreign traces, so
 * that both choose the same waker.
 */
#ifndef SONDE_EVENT_WAKEUP_H
#define SONDE_EVENT_WAKEUP_H

#include "event/event.h"

struct wake {
	__u64 time;   /* ns; 0: not woken since the thread last had a CPU */
	__u32 waker;  /* tid; with an interrupt, the interrupted thread */
	__u16 vector; /* number of the interrupt or softirq */
	__u8 context; /* enum wake_context */
	__u8 pad;
};

/* What a CPU executes when it wakes a thread. */
struct waking_cpu {
	__u32 tid;         /* current thread; 0 if idle */
	__u32 hardirq;     /* number + 1 of the device interrupt being handled, or 0 */
	__u32 softirq;     /* vector + 1 of the softirq being handled, or 0 */
	__u32 softirq_tid; /* thread on which that softirq is handled */
	__u8 hrtimer;      /* whether the function of a high-resolution timer runs */
	__u8 untraced;     /* WAKE_IRQ or WAKE_SOFTIRQ: in an interrupt without a number; or 0 */
};

/*
 * Sets everything but the time.  With PREEMPT_RT, another thread can preempt a
 * softirq, so a softirq counts only on the thread on which it began.  The idle
 * task wakes no thread, so a wakeup from it comes from an interrupt that has no
 * tracepoint.
 */
static inline void wake_set_waker(struct wake *wake, const struct waking_cpu *cpu)
{
	wake->waker = cpu->tid;
	if (cpu->hrtimer) {
		wake->context = WAKE_HRTIMER;
	} else if (cpu->hardirq) {
		wake->context = WAKE_IRQ;
		wake->vector = cpu->hardirq - 1;
	} else if (cpu->softirq && cpu->softirq_tid == cpu->tid) {
		wake->context = WAKE_SOFTIRQ;
		wake->vector = cpu->softirq - 1;
	} else if (cpu->untraced || !cpu->tid) {
		wake->context = cpu->untraced ? cpu->untraced : WAKE_IRQ;
		wake->vector = VECTOR_UNKNOWN;
	} else {
		wake->context = WAKE_TASK;
	}
}

#endif
