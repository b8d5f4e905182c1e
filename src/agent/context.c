/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context - which span the thread works for, as OTEP 4947 publishes it.
 *
 * A reader looks only while the thread is stopped, wherever that is.  So a new
 * record is written beside the one that is to be seen, and one store of a
 * pointer puts it in its place: there is no moment at which a reader could find
 * half of it.  Only the compiler must be kept from changing the order.
 *
 * A handler that interrupts this does not get through.  While it runs, the thread's
 * span is not known; then it is what it was, or what the interrupted call makes it.
 */
#include "agent/internal.h"

#include <string.h>

const struct context_record context_lost = { 0 };
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

static inline void say(struct agent_thread *t)
{
	if (unlikely(arena_is_recording()))
		event_context(t, clock_now());
	agent_exit(t);
}

static void nested(struct agent_thread *t)
{
	if (t->context && *t->context != &context_interrupted) {
		t->kept = *t->context;
		atomic_signal_fence(memory_order_seq_cst);
		*(const struct context_record *volatile *)t->context = &context_interrupted;
	}
	ring_drop_nested(t);
}

void sonde_agent_set_context(const uint8_t trace[16], const uint8_t span[8], uint8_t trace_flags)
{
	struct agent_thread *t = &agent_thread;

	if (unlikely(!agent_enter(t))) {
		nested(t);
		return;
	}
	context_set(t, trace, span, trace_flags);
	say(t);
}

static void point(const struct context_record *record)
{
	struct agent_thread *t = &agent_thread;

	if (unlikely(!agent_enter(t))) {
		nested(t);
		return;
	}
	*(const struct context_record *volatile *)t->context = record;
	say(t);
}

void sonde_agent_clear_context(void)
{
	point(NULL);
}

void sonde_agent_set_unknown_context(void)
{
	point(&context_lost);
}
