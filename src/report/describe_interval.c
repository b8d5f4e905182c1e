/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intervals.  A RUN record is one interval; a WAIT record is up to two, divided by the
 * wakeup.  The blocked part has the object and the waker; the runnable part only has the
 * run-queue latency.
 */
#include "event/syscall.h"
#include "report/describe.h"
#include "event/kind.h"

static void begin_interval(const struct describer *d, const struct record *record, char state,
			   nsec_t start, nsec_t end)
{
	struct field_head head = describe_head(d, record);

	head.state = state ? state : STATE_UNKNOWN;
	head.start = start;
	head.end = end;
	fields_begin(d->fields, &head);
}

void describe_run(const struct describer *d, const struct record_run *r)
{
	begin_interval(d, &r->head, STATE_RUNNING, r->start, r->head.time);
	if (r->irq)
		field_time(d->fields, "irq_time", "  interrupts ", r->irq);
	field_flag(d->fields, "out_of_scope", "  out of scope", r->flags & INTERVAL_OUT_OF_SCOPE);
	field_flag(d->fields, "unfinished", "  unfinished", r->flags & INTERVAL_OPEN);
	fields_end(d->fields);
}

/* "woken by task 4127 nginx", "by softirq net_rx", "by irq 24", "by hrtimer" */
static void describe_wakeup(const struct describer *d, const struct record_wait *r)
{
	struct fields *f = d->fields;
	bool woken = r->context != WAKE_NONE, by_task = r->context == WAKE_TASK;

	field_name(f, "woken_by", woken ? "  woken by " : NULL, wake_context_name(r->context),
		   r->context);
	if (r->vector == VECTOR_UNKNOWN)
		; /* some traces only contain that it was an interrupt */
	else if (r->context == WAKE_SOFTIRQ)
		field_word(f, "vector", " ", r->vector, softirq_name(r->vector));
	else if (r->context == WAKE_IRQ)
		field_u64(f, "vector", " ", r->vector);
	if (by_task || (woken && r->waker)) { /* an interrupt can hit an idle CPU */
		field_u64(f, "waker_tid", by_task ? " " : NULL, r->waker);
		field_str(f, "waker_comm", by_task ? " " : NULL,
			  name_table_thread(d->names, r->waker).comm);
	}
}

static void describe_blocked(const struct describer *d, const struct record_wait *r)
{
	struct fields *f = d->fields;
	bool io = r->flags & INTERVAL_IOWAIT;

	begin_interval(d, &r->head, r->state, r->start, r->woken);
	if (r->syscall >= 0)
		describe_syscall_name(d, "syscall", r->syscall);
	describe_object(d, r->object_kind, r->object);
	describe_wakeup(d, r);
	field_flag(f, "iowait", "  iowait", io);
	field_flag(f, "uninterruptible", io ? NULL : "  uninterruptible",
		   r->flags & INTERVAL_UNINTERRUPTIBLE);
	field_flag(f, "condvar", NULL, r->flags & INTERVAL_CONDVAR);
	if (r->futex_op || r->futex_value) {
		field_u64(f, "futex_op", NULL, r->futex_op);
		field_u64(f, "futex_value", NULL, r->futex_value);
	}
	field_flag(f, "memory_short", "  memory short", r->memory == MEMORY_SHORT);
	field_flag(f, "memory_limit", "  memory limit", r->memory == MEMORY_AT_LIMIT);
	field_flag(f, "stopped", "  stopped", r->flags & INTERVAL_STOPPED);
	if (r->stack)
		field_u64(f, "stack", "  stack ", r->stack);
	if (r->waker_stack)
		field_u64(f, "waker_stack", "  waker stack ", r->waker_stack);
	field_flag(f, "end_hidden", "  end hidden", r->flags & INTERVAL_END_HIDDEN);
	field_flag(f, "unfinished", "  unfinished",
		   r->woken == r->head.time && r->flags & INTERVAL_OPEN);
	fields_end(f);
}

static void describe_ready(const struct describer *d, const struct record_wait *r)
{
	begin_interval(d, &r->head, r->ready, r->woken, r->head.time);
	field_flag(d->fields, "preempted", "  preempted", r->flags & INTERVAL_PREEMPTED);
	field_flag(d->fields, "end_hidden", "  end hidden", r->flags & INTERVAL_END_HIDDEN);
	field_flag(d->fields, "unfinished", "  unfinished", r->flags & INTERVAL_OPEN);
	fields_end(d->fields);
}

void describe_wait(const struct describer *d, const struct record_wait *r)
{
	if (r->woken > r->start)
		describe_blocked(d, r);
	if (r->head.time > r->woken)
		describe_ready(d, r);
}
