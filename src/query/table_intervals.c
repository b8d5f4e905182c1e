/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intervals, and wakeups, which are the ends of blocked intervals.
 *
 * A thread has two timelines sorted by start: its intervals and the causes of the
 * blocked ones.  A scan of one timeline mostly needs the matching item of the other,
 * which lies close to the last one it needed.
 */
#include <inttypes.h>
#include <stdio.h>

#include "event/syscall.h"
#include "query/tables.h"
#include "event/kind.h"

static nsec_t time_at(const struct timeline *timeline, timeline_pos pos)
{
	return *(const nsec_t *)timeline_at(timeline, pos);
}

/* The item with exactly this time, or NULL.  Moves the hint there. */
static const void *find_near(struct timeline_hint *hint, const struct timeline *timeline, nsec_t t)
{
	enum { STEPS = 4 };
	bool near = hint->timeline == timeline && time_at(timeline, hint->pos) <= t;

	for (unsigned i = 0; near && i < STEPS && time_at(timeline, hint->pos) < t; i++)
		near = timeline_next(timeline, &hint->pos);
	hint->timeline = timeline;
	if ((!near || time_at(timeline, hint->pos) != t) &&
	    !timeline_find(timeline, t, &hint->pos)) {
		hint->timeline = NULL;
		return NULL;
	}
	return time_at(timeline, hint->pos) == t ? timeline_at(timeline, hint->pos) : NULL;
}

static nsec_t interval_end(const struct thread *thread, timeline_pos pos)
{
	return timeline_next(&thread->intervals, &pos) ? time_at(&thread->intervals, pos)
						       : thread->end;
}

/* The name of the object that a thread waited for. */
static void object_name(struct cell *ret, struct query *q, const struct cause *cause)
{
	const struct model *model = q->model;

	switch (cause->object_kind) {
	case OBJECT_FILE:
	case OBJECT_DIRECTORY:
		cell_text(ret, model_file(model, cause->host, cause->object));
		break;
	case OBJECT_BLOCK_DEVICE:
		cell_device(ret, model, cause->host, cause->object);
		break;
	case OBJECT_INET:
		cell_address(ret, q, cause->host, cause->object, ADDRESS_PEER);
		break;
	case OBJECT_FUTEX:
		snprintf(ret->buffer, sizeof(ret->buffer), "0x%" PRIx64, cause->object);
		cell_text(ret, ret->buffer);
		break;
	}
}

/* The columns of a cause, which both tables have. */
enum cause_column {
	CAUSE_WAKER,
	CAUSE_WAKER_TID,
	CAUSE_WAKER_COMM,
	CAUSE_WOKEN_BY,
	CAUSE_SYSCALL,
	CAUSE_OBJECT,
	CAUSE_OBJECT_ID,
	CAUSE_OBJECT_NAME,
	CAUSE_DEVICE,
	CAUSE_CONDVAR,
	CAUSE_STOPPED,
	CAUSE_STACK,
	CAUSE_WAKER_STACK,
};

#define CAUSE_COLUMN(first, column, name, type, description) \
	[(first) + (column)] = { name, type, COLUMN_PLAIN, description }

#define CAUSE_COLUMNS(first) \
	CAUSE_COLUMN(first, CAUSE_WAKER, "waker", QUERY_INT, \
		     "thread that ended the wait, as in threads.id"), \
		CAUSE_COLUMN(first, CAUSE_WAKER_TID, "waker_tid", QUERY_INT, \
			     "thread ID of the waker"), \
		CAUSE_COLUMN(first, CAUSE_WAKER_COMM, "waker_comm", QUERY_TEXT, \
			     "name of the waker"), \
		CAUSE_COLUMN(first, CAUSE_WOKEN_BY, "woken_by", QUERY_TEXT, \
			     "context of the wakeup: task, irq, softirq, hrtimer or none"), \
		CAUSE_COLUMN(first, CAUSE_SYSCALL, "syscall", QUERY_TEXT, \
			     "system call in which the thread waited"), \
		CAUSE_COLUMN( \
			first, CAUSE_OBJECT, "object_type", QUERY_TEXT, \
			"kind of object waited for: file, inet, unix, pipe, futex, epoll, ..."), \
		CAUSE_COLUMN(first, CAUSE_OBJECT_ID, "object_id", QUERY_INT, \
			     "number of the object; for a socket, as in messages.object_id"), \
		CAUSE_COLUMN(first, CAUSE_OBJECT_NAME, "object_name", QUERY_TEXT, \
			     "name of the file or device, or address of the peer or futex"), \
		CAUSE_COLUMN(first, CAUSE_DEVICE, "device", QUERY_TEXT, "device of the file"), \
		CAUSE_COLUMN(first, CAUSE_CONDVAR, "condvar", QUERY_INT, \
			     "1 if the futex is a condition variable or semaphore, not a lock"), \
		CAUSE_COLUMN(first, CAUSE_STOPPED, "stopped", QUERY_INT, \
			     "1 if a signal, a debugger or the freezer stopped the thread"), \
		CAUSE_COLUMN(first, CAUSE_STACK, "stack", QUERY_INT, \
			     "stack of the waiting thread, as in stacks.id"), \
		CAUSE_COLUMN(first, CAUSE_WAKER_STACK, "waker_stack", QUERY_INT, \
			     "stack of the waker, as in stacks.id")

static void cause_object(struct cell *ret, struct query *q, const struct cause *cause,
			 enum cause_column column)
{
	const struct model *model = q->model;
	bool is_file = cause->object_kind == OBJECT_FILE || cause->object_kind == OBJECT_DIRECTORY;

	switch (column) {
	case CAUSE_OBJECT:
		cell_text(ret, object_kind_name(cause->object_kind));
		break;
	case CAUSE_OBJECT_ID:
		if (cause->object_kind != OBJECT_NONE)
			cell_int(ret, cause->object);
		break;
	case CAUSE_OBJECT_NAME:
		object_name(ret, q, cause);
		break;
	case CAUSE_DEVICE:
		if (is_file)
			cell_device(ret, model, cause->host,
				    model_file_device(model, cause->host, cause->object));
		break;
	default:
		break;
	}
}

static void cause_value(struct cell *ret, struct query *q, const struct cause *cause,
			enum cause_column column)
{
	static const int thread_columns[] = { THREAD_ID, THREAD_TID, THREAD_COMM };

	switch (column) {
	case CAUSE_WAKER:
	case CAUSE_WAKER_TID:
	case CAUSE_WAKER_COMM:
		if (cause->context == WAKE_TASK)
			cell_thread(ret, q->model, cause->waker,
				    thread_columns[column - CAUSE_WAKER]);
		break;
	case CAUSE_WOKEN_BY:
		cell_text(ret, wake_context_name(cause->context));
		break;
	case CAUSE_SYSCALL:
		cell_text(ret, syscall_name(cause->syscall));
		break;
	case CAUSE_CONDVAR:
		cell_int(ret, !!(cause->flags & INTERVAL_CONDVAR));
		break;
	case CAUSE_STOPPED:
		cell_int(ret, !!(cause->flags & INTERVAL_STOPPED));
		break;
	case CAUSE_STACK:
		if (cause->stack)
			cell_int(ret, cause->stack);
		break;
	case CAUSE_WAKER_STACK:
		if (cause->waker_stack)
			cell_int(ret, cause->waker_stack);
		break;
	default:
		cause_object(ret, q, cause, column);
	}
}

static void state_cell(struct cell *ret, const struct interval *interval)
{
	ret->buffer[0] = interval->state;
	ret->buffer[1] = '\0';
	if (interval->state != STATE_GAP)
		cell_text(ret, ret->buffer);
}

enum {
	STATE = THREAD_COLUMN_COUNT,
	START,
	END,
	DURATION,
	CPU,
	IRQ_TIME,
	PREEMPTED,
	UNFINISHED,
	INTERVAL_CAUSE,
};

static const struct column interval_columns[] = {
	THREAD_COLUMNS("thread", COLUMN_ID),
	[STATE] = { "state", QUERY_TEXT, COLUMN_PLAIN, "state letter; see state_name()" },
	[START] = { "start", QUERY_INT, COLUMN_FROM, "start of the interval" },
	[END] = { "end", QUERY_INT, COLUMN_TO, "end of the interval" },
	[DURATION] = { "duration", QUERY_INT, COLUMN_PLAIN, "end - start" },
	[CPU] = { "cpu", QUERY_INT, COLUMN_PLAIN, "CPU the thread ran on, or ran on next" },
	[IRQ_TIME] = { "irq_time", QUERY_INT, COLUMN_PLAIN,
		       "time spent in interrupts, if running" },
	[PREEMPTED] = { "preempted", QUERY_INT, COLUMN_PLAIN,
			"1 if the thread waits for a CPU because it was preempted" },
	[UNFINISHED] = { "unfinished", QUERY_INT, COLUMN_PLAIN,
			 "1 if the recording ended before the interval" },
	CAUSE_COLUMNS(INTERVAL_CAUSE),
};

static void interval_value(struct table_cursor *c, int column, struct cell *ret)
{
	const struct thread *thread = cursor_thread(c);
	const struct interval *interval = c->item;
	const struct cause *cause;

	switch (column) {
	case STATE:
		state_cell(ret, interval);
		break;
	case START:
		cell_time(ret, interval->start);
		break;
	case END:
		cell_time(ret, interval_end(thread, c->pos));
		break;
	case DURATION:
		cell_duration(ret, interval->start, interval_end(thread, c->pos));
		break;
	case CPU:
		cell_int(ret, interval->cpu);
		break;
	case IRQ_TIME:
		cell_int(ret, interval->irq);
		break;
	case PREEMPTED:
		cell_int(ret,
			 interval->state == STATE_READY && interval->flags & INTERVAL_PREEMPTED);
		break;
	case UNFINISHED:
		cell_int(ret, interval->flags & INTERVAL_OPEN);
		break;
	case THREAD_ID ... THREAD_HOST:
		cell_thread(ret, c->query->model, (thread_id){ c->number }, column);
		break;
	default:
		cause = find_near(&c->other, &thread->causes, interval->start);
		if (cause)
			cause_value(ret, c->query, cause, column - INTERVAL_CAUSE);
	}
}

static const struct timeline *interval_timeline(struct query *q, uint32_t number)
{
	return &model_thread(q->model, (thread_id){ number })->intervals;
}

const struct query_table table_intervals = {
	.name = "intervals",
	.description = "state of each thread over time: running, waiting for a CPU, or off-CPU",
	.columns = interval_columns,
	.column_count = ARRAY_LEN(interval_columns),
	.sorted = "ag",
	.count = table_thread_count,
	.value = interval_value,
	.timeline = interval_timeline,
	.order = BY_START,
};

enum {
	WAKEUP_START = THREAD_COLUMN_COUNT,
	WAKEUP_TIME,
	WAKEUP_DURATION,
	WAKEUP_DELAY,
	WAKEUP_STATE,
	WAKEUP_VECTOR,
	WAKEUP_INTERRUPTED,
	WAKEUP_CAUSE,
};

static const struct column wakeup_columns[] = {
	THREAD_COLUMNS("thread", COLUMN_ID),
	[WAKEUP_START] = { "start", QUERY_INT, COLUMN_FROM, "start of the wait" },
	[WAKEUP_TIME] = { "time", QUERY_INT, COLUMN_TO, "time of the wakeup" },
	[WAKEUP_DURATION] = { "duration", QUERY_INT, COLUMN_PLAIN, "length of the wait" },
	[WAKEUP_DELAY] = { "delay", QUERY_INT, COLUMN_PLAIN,
			   "run-queue latency: time from the wakeup until the thread ran" },
	[WAKEUP_STATE] = { "state", QUERY_TEXT, COLUMN_PLAIN, "state letter of the wait" },
	[WAKEUP_VECTOR] = { "vector", QUERY_TEXT, COLUMN_PLAIN,
			    "number of the interrupt, or name of the softirq" },
	[WAKEUP_INTERRUPTED] = { "interrupted", QUERY_INT, COLUMN_PLAIN,
				 "thread that the interrupt stopped, as in threads.id" },
	CAUSE_COLUMNS(WAKEUP_CAUSE),
};

static void wakeup_vector(struct cell *ret, const struct cause *cause)
{
	const char *name = cause->context == WAKE_SOFTIRQ ? softirq_name(cause->vector) : NULL;

	if (cause->context != WAKE_IRQ && cause->context != WAKE_SOFTIRQ)
		return;
	if (cause->vector == VECTOR_UNKNOWN)
		return;
	snprintf(ret->buffer, sizeof(ret->buffer), "%u", cause->vector);
	cell_text(ret, name ? name : ret->buffer);
}

/* The columns that depend on the wait that the wakeup ended, or on the interval after it. */
static void wakeup_interval(struct table_cursor *c, int column, struct cell *ret)
{
	const struct thread *thread = cursor_thread(c);
	const struct cause *cause = c->item;
	const struct interval *blocked = find_near(&c->other, &thread->intervals, cause->start);

	if (!blocked)
		return;

	nsec_t woken = interval_end(thread, c->other.pos);
	timeline_pos next = c->other.pos;
	const struct interval *ready = timeline_next(&thread->intervals, &next)
					       ? timeline_at(&thread->intervals, next)
					       : NULL;
	bool waits = ready && (ready->state == STATE_READY || ready->state == STATE_THROTTLED);

	if (column == WAKEUP_TIME)
		cell_time(ret, woken);
	else if (column == WAKEUP_DURATION)
		cell_duration(ret, cause->start, woken);
	else if (column == WAKEUP_STATE)
		state_cell(ret, blocked);
	else if (ready)
		cell_duration(ret, woken, waits ? interval_end(thread, next) : woken);
}

static void wakeup_value(struct table_cursor *c, int column, struct cell *ret)
{
	const struct model *model = c->query->model;
	const struct cause *cause = c->item;

	switch (column) {
	case WAKEUP_START:
		cell_time(ret, cause->start);
		break;
	case WAKEUP_TIME:
	case WAKEUP_DURATION:
	case WAKEUP_DELAY:
	case WAKEUP_STATE:
		wakeup_interval(c, column, ret);
		break;
	case WAKEUP_VECTOR:
		wakeup_vector(ret, cause);
		break;
	case WAKEUP_INTERRUPTED:
		if (cause->context != WAKE_TASK)
			cell_thread(ret, model, cause->waker, THREAD_ID);
		break;
	case THREAD_ID ... THREAD_HOST:
		cell_thread(ret, model, (thread_id){ c->number }, column);
		break;
	default:
		cause_value(ret, c->query, cause, column - WAKEUP_CAUSE);
	}
}

static const struct timeline *cause_timeline(struct query *q, uint32_t number)
{
	return &model_thread(q->model, (thread_id){ number })->causes;
}

static bool is_wakeup(struct table_cursor *c)
{
	return ((const struct cause *)c->item)->context != WAKE_NONE;
}

const struct query_table table_wakeups = {
	.name = "wakeups",
	.description = "wakeups: when a blocked thread became runnable, and its waker",
	.columns = wakeup_columns,
	.column_count = ARRAY_LEN(wakeup_columns),
	.sorted = "af",
	.count = table_thread_count,
	.value = wakeup_value,
	.timeline = cause_timeline,
	.order = BY_START,
	.is_row = is_wakeup,
};
