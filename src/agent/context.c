/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context - publish the span that a thread works for, according to OTEP 4947.
 *
 * Readers look at the context only while the thread is stopped, at any instruction.  So
 * a new record is written beside the published one, and a single store of a pointer
 * publishes it: a reader never finds an incomplete record.  Only the compiler must be
 * kept from reordering the stores.
 *
 * A signal handler that interrupts a change cannot set a context.  While it runs, the
 * thread's span is unknown; afterwards the previous context, or the one that the
 * interrupted call sets, is valid.
 */
#include "agent/internal.h"

#include <string.h>

const struct context_record context_unknown = { 0 };
const struct context_record context_interrupted = { 0 };

void context_set(struct agent_thread *t, const uint8_t trace[16], const uint8_t span[8],
		 uint8_t flags)
{
	struct context_record *next = &t->records[*t->context == &t->records[0]];

	memcpy(next->trace, trace, sizeof(next->trace));
	memcpy(next->span, span, sizeof(next->span));
	next->trace_flags = flags;
	next->valid = 1;
	atomic_signal_fence(memory_order_seq_cst);
	*(const struct context_record *volatile *)t->context = next;
}

static inline void finish_change(struct agent_thread *t)
{
	if (unlikely(arena_is_recording()))
		event_context(t, clock_now());
	agent_exit(t);
}

static void drop_nested(struct agent_thread *t)
{
	if (t->context && *t->context != &context_interrupted) {
		t->saved_context = *t->context;
		atomic_signal_fence(memory_order_seq_cst);
		*(const struct context_record *volatile *)t->context = &context_interrupted;
	}
	ring_drop_nested(t);
}

void sonde_agent_set_context(const uint8_t trace[16], const uint8_t span[8], uint8_t trace_flags)
{
	struct agent_thread *t = &agent_thread;

	if (unlikely(!agent_enter(t))) {
		drop_nested(t);
		return;
	}
	context_set(t, trace, span, trace_flags);
	finish_change(t);
}

static void set_record(const struct context_record *record)
{
	struct agent_thread *t = &agent_thread;

	if (unlikely(!agent_enter(t))) {
		drop_nested(t);
		return;
	}
	*(const struct context_record *volatile *)t->context = record;
	finish_change(t);
}

void sonde_agent_clear_context(void)
{
	set_record(NULL);
}

void sonde_agent_set_unknown_context(void)
{
	set_record(&context_unknown);
}
