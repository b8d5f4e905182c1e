/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * irq - interrupts on each CPU: which interrupt wakes a thread, and the time that
 * interrupts take from the thread they interrupt.
 *
 * A device interrupt can interrupt a softirq; time is counted once, for the
 * outermost one.  An hrtimer function runs inside the timer interrupt and wakes
 * threads, but is too short and too frequent to be timed.
 *
 * With PREEMPT_RT, a softirq is preempted like the thread that it runs on.  So the
 * softirq is identified by that thread, and a context switch ends its time.
 *
 * Entries are ignored until all programs are attached, so that each entry has
 * its exit.
 */
#ifndef SONDE_BPF_IRQ_BPF_H
#define SONDE_BPF_IRQ_BPF_H

#include "bpf/ring.bpf.h"

static __always_inline bool in_softirq(const struct wire_cpu *cpu)
{
	return cpu->softirq && cpu->softirq_tid == (__u32)bpf_get_current_pid_tgid();
}

/* Reading the clock is most of the cost, so do it only while a thread in scope is interrupted. */
static __always_inline void interrupt_begins(struct wire_cpu *cpu)
{
	if (!cpu->irq_begin && cpu->in_scope)
		cpu->irq_begin = bpf_ktime_get_ns();
}

static __always_inline void interrupt_ends(struct wire_cpu *cpu)
{
	if (cpu->hardirq || cpu->softirq || !cpu->irq_begin)
		return;
	cpu->irq += bpf_ktime_get_ns() - cpu->irq_begin;
	cpu->irq_begin = 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq_entry, int irq)
{
	struct wire_ring *ring = ring_of_cpu();

	if (!ring || !active)
		return 0;
	interrupt_begins(&ring->cpu);
	ring->cpu.hardirq = irq + 1;
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_exit)
{
	struct wire_ring *ring = ring_of_cpu();

	if (!ring)
		return 0;
	ring->cpu.hardirq = 0;
	interrupt_ends(&ring->cpu);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_entry, unsigned int vector)
{
	struct wire_ring *ring = ring_of_cpu();

	if (!ring || !active)
		return 0;
	interrupt_begins(&ring->cpu);
	ring->cpu.softirq = vector + 1;
	ring->cpu.softirq_tid = bpf_get_current_pid_tgid();
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit)
{
	struct wire_ring *ring = ring_of_cpu();

	if (!ring)
		return 0;
	ring->cpu.softirq = 0;
	interrupt_ends(&ring->cpu);
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(on_hrtimer_entry)
{
	struct wire_ring *ring = ring_of_cpu();

	if (ring && active)
		ring->cpu.hrtimer = 1;
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(on_hrtimer_exit)
{
	struct wire_ring *ring = ring_of_cpu();

	if (ring)
		ring->cpu.hrtimer = 0;
	return 0;
}

#endif
