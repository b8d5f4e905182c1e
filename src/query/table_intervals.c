/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intervals, and wakeups, which are how blocked ones ended.
 *
 * A thread's intervals and their causes are two lines, both by start.  A scan
 * of one mostly wants what belongs to it in the other, which is near to where
 * the last was.
 */
#include <inttypes.h>
#include <stdio.h>

#include "event/syscall.h"
#include "query/tables.h"
#include "event/kind.h"

static nsec_t time_at(const struct timeline *line, timeline_pos pos)
{
	return *(const nsec_t *)timeline_at(line, pos);
}

/* The item of exactly this time, or NULL; f is left there. */
static const void *follow(struct follower *f, const struct timeline *line, nsec_t t)
{
	enum { STEPS = 4 };
	bool near = f->line == line && time_at(line, f->pos) <= t;

	for (unsigned i = 0; near && i < STEPS && time_at(line, f->pos) < t; i++)
		near = timeline_next(line, &f->pos);
	f->line = line;
	if ((!near || time_at(line, f->pos) != t) && !timeline_find(line, t, &f->pos)) {
		f->line = NULL;
		return NULL;
	}
	return time_at(line, f->pos) == t ? timeline_at(line, f->pos) : NULL;
}

static nsec_t interval_end(const struct thread *thread, timeline_pos pos)
{
	return timeline_next(&thread->intervals, &pos) ? time_at(&thread->intervals, pos)
						       : thread->end;
}

/* The name of what was waited for. */
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

/* What causes have, in both tables. */
enum cause_value {
	CAUSE_WAKER,
	CAUSE_WAKER_TID,
	CAUSE_WAKER_COMM,
	CAUSE_CONTEXT,
	CAUSE_SYSCALL,
	CAUSE_OBJECT,
	CAUSE_OBJECT_ID,
	CAUSE_NAME,
	CAUSE_DEVICE,
	CAUSE_SIGNAL,
	CAUSE_STACK,
	CAUSE_WAKER_STACK,
};

#define CAUSE_COLUMNS(first) \
	[(first) + \
		CAUSE_WAKER] = { "waker", QUERY_INT, COLUMN_PLAIN, "thread that ended the wait" }, \
		[(first) + CAUSE_WAKER_TID] = { "waker_tid", QUERY_INT, COLUMN_PLAIN, "its tid" }, \
		[(first) + CAUSE_WAKER_COMM] = { "waker_comm", QUERY_TEXT, COLUMN_PLAIN, \
						 "its name" }, \
		[(first) + CAUSE_CONTEXT] = { "context", QUERY_TEXT, COLUMN_PLAIN, \
					      "what ended it: task, irq, softirq, hrtimer, or " \
					      "none" }, \
		[(first) + CAUSE_SYSCALL] = { "syscall", QUERY_TEXT, COLUMN_PLAIN, \
					      "system call in which it waited" }, \
		[(first) + \
			CAUSE_OBJECT] = { "object", QUERY_TEXT, COLUMN_PLAIN, \
					  "on what: file, inet, unix, pipe, futex, epoll, ..." }, \
		[(first) + CAUSE_OBJECT_ID] = { "object_id", QUERY_INT, COLUMN_PLAIN, \
						"its number; a socket's is that of " \
						"messages.socket" }, \
		[(first) + CAUSE_NAME] = { "name", QUERY_TEXT, COLUMN_PLAIN, \
					   "of the file or device, or address of the peer or " \
					   "futex" }, \
		[(first) + CAUSE_DEVICE] = { "device", QUERY_TEXT, COLUMN_PLAIN, \
					     "that the file is on" }, \
		[(first) + CAUSE_SIGNAL] = { "signal", QUERY_INT, COLUMN_PLAIN, \
					     "1 if to be signalled (condition variable), not for " \
					     "a lock" }, \
		[(first) + CAUSE_STACK] = { "stack", QUERY_INT, COLUMN_PLAIN, \
					    "where it waited, as in stacks.id" }, \
		[(first) + CAUSE_WAKER_STACK] = { "waker_stack", QUERY_INT, COLUMN_PLAIN, \
						  "where the waker was" }

static void cause_object(struct cell *ret, struct query *q, const struct cause *cause,
			 enum cause_value which)
{
	const struct model *model = q->model;
	bool is_file = cause->object_kind == OBJECT_FILE || cause->object_kind == OBJECT_DIRECTORY;

	switch (which) {
	case CAUSE_OBJECT:
		cell_text(ret, object_kind_name(cause->object_kind));
		break;
	case CAUSE_OBJECT_ID:
		if (cause->object_kind != OBJECT_NONE)
			cell_int(ret, cause->object);
		break;
	case CAUSE_NAME:
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
			enum cause_value which)
{
	static const int thread_columns[] = { THREAD_ID, THREAD_TID, THREAD_COMM };

	switch (which) {
	case CAUSE_WAKER:
	case CAUSE_WAKER_TID:
	case CAUSE_WAKER_COMM:
		if (cause->context == WAKE_TASK)
			cell_thread(ret, q->model, cause->waker,
				    thread_columns[which - CAUSE_WAKER]);
		break;
	case CAUSE_CONTEXT:
		cell_text(ret, wake_context_name(cause->context));
		break;
	case CAUSE_SYSCALL:
		cell_text(ret, syscall_name(cause->syscall));
		break;
	case CAUSE_SIGNAL:
		cell_int(ret, !!(cause->flags & INTERVAL_SIGNAL));
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
		cause_object(ret, q, cause, which);
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
	NS,
	CPU,
	IRQ_NS,
	PREEMPTED,
	OPEN,
	INTERVAL_CAUSE,
};

static const struct column interval_columns[] = {
	THREAD_COLUMNS("thread", COLUMN_ID),
	[STATE] = { "state", QUERY_TEXT, COLUMN_PLAIN, "letter, as state_name() knows it" },
	[START] = { "start", QUERY_INT, COLUMN_FROM, "since when" },
	[END] = { "end", QUERY_INT, COLUMN_TO, "until when" },
	[NS] = { "ns", QUERY_INT, COLUMN_PLAIN, "how long" },
	[CPU] = { "cpu", QUERY_INT, COLUMN_PLAIN, "where it ran, or runs next" },
	[IRQ_NS] = { "irq_ns", QUERY_INT, COLUMN_PLAIN, "running: of it, in interrupts" },
	[PREEMPTED] = { "preempted", QUERY_INT, COLUMN_PLAIN,
			"1 if it waits for a CPU since another took it" },
	[OPEN] = { "open", QUERY_INT, COLUMN_PLAIN, "1 if the end of the recording cut it off" },
	CAUSE_COLUMNS(INTERVAL_CAUSE),
};

static void interval_value(struct cursor *c, int column, struct cell *ret)
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
	case NS:
		cell_length(ret, interval->start, interval_end(thread, c->pos));
		break;
	case CPU:
		cell_int(ret, interval->cpu);
		break;
	case IRQ_NS:
		cell_int(ret, interval->irq);
		break;
	case PREEMPTED:
		cell_int(ret,
			 interval->state == STATE_READY && interval->flags & INTERVAL_PREEMPTED);
		break;
	case OPEN:
		cell_int(ret, interval->flags & INTERVAL_OPEN);
		break;
	case THREAD_ID ... THREAD_HOST:
		cell_thread(ret, c->query->model, (thread_id){ c->number }, column);
		break;
	default:
		cause = follow(&c->other, &thread->causes, interval->start);
		if (cause)
			cause_value(ret, c->query, cause, column - INTERVAL_CAUSE);
	}
}

static const struct timeline *interval_line(struct query *q, uint32_t number)
{
	return &model_thread(q->model, (thread_id){ number })->intervals;
}

const struct table table_intervals = {
	.name = "intervals",
	.meaning = "what each thread did, without gaps: ran, waited for a CPU, or was blocked",
	.columns = interval_columns,
	.column_count = ARRAY_LEN(interval_columns),
	.sorted = "ag",
	.count = thread_count,
	.value = interval_value,
	.line = interval_line,
	.order = BY_START,
};

enum {
	WAKEUP_SINCE = THREAD_COLUMN_COUNT,
	WAKEUP_TIME,
	WAKEUP_NS,
	WAKEUP_DELAY,
	WAKEUP_STATE,
	WAKEUP_VECTOR,
	WAKEUP_INTERRUPTED,
	WAKEUP_CAUSE,
};

static const struct column wakeup_columns[] = {
	THREAD_COLUMNS("thread", COLUMN_ID),
	[WAKEUP_SINCE] = { "since", QUERY_INT, COLUMN_FROM, "since when it had been blocked" },
	[WAKEUP_TIME] = { "time", QUERY_INT, COLUMN_TO, "when it was woken" },
	[WAKEUP_NS] = { "ns", QUERY_INT, COLUMN_PLAIN, "how long it had been blocked" },
	[WAKEUP_DELAY] = { "delay", QUERY_INT, COLUMN_PLAIN, "ns until it then had a CPU" },
	[WAKEUP_STATE] = { "state", QUERY_TEXT, COLUMN_PLAIN, "letter of the wait that ended" },
	[WAKEUP_VECTOR] = { "vector", QUERY_TEXT, COLUMN_PLAIN,
			    "of an interrupt: its number; of a softirq: its name" },
	[WAKEUP_INTERRUPTED] = { "interrupted", QUERY_INT, COLUMN_PLAIN,
				 "of an interrupt: the thread that had the CPU" },
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

/* The wait that a wakeup ended, and what came then. */
static void wakeup_interval(struct cursor *c, int column, struct cell *ret)
{
	const struct thread *thread = cursor_thread(c);
	const struct cause *cause = c->item;
	const struct interval *blocked = follow(&c->other, &thread->intervals, cause->start);

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
	else if (column == WAKEUP_NS)
		cell_length(ret, cause->start, woken);
	else if (column == WAKEUP_STATE)
		state_cell(ret, blocked);
	else if (ready)
		cell_length(ret, woken, waits ? interval_end(thread, next) : woken);
}

static void wakeup_value(struct cursor *c, int column, struct cell *ret)
{
	const struct model *model = c->query->model;
	const struct cause *cause = c->item;

	switch (column) {
	case WAKEUP_SINCE:
		cell_time(ret, cause->start);
		break;
	case WAKEUP_TIME:
	case WAKEUP_NS:
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

static const struct timeline *cause_line(struct query *q, uint32_t number)
{
	return &model_thread(q->model, (thread_id){ number })->causes;
}

static bool is_wakeup(struct cursor *c)
{
	return ((const struct cause *)c->item)->context != WAKE_NONE;
}

const struct table table_wakeups = {
	.name = "wakeups",
	.meaning = "when a blocked thread was made runnable, and by whom",
	.columns = wakeup_columns,
	.column_count = ARRAY_LEN(wakeup_columns),
	.sorted = "af",
	.count = thread_count,
	.value = wakeup_value,
	.line = cause_line,
	.order = BY_START,
	.has = is_wakeup,
};
