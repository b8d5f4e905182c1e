/* SPDX-License-Identifier: Apache-2.0 */
/* Tables with one timeline per thread: system calls, block I/O, probe events, samples. */
#include "event/syscall.h"
#include "query/tables.h"

enum { START = THREAD_COLUMN_COUNT, END, DURATION, TIMES_END };

#define TIME_COLUMNS(from, to) \
	[START] = { "start", QUERY_INT, COLUMN_FROM, from }, \
	[END] = { "end", QUERY_INT, COLUMN_TO, to }, \
	[DURATION] = { "duration", QUERY_INT, COLUMN_PLAIN, "end - start" }

/* The columns that system calls and block I/O have in common. */
static void times_value(struct table_cursor *c, int column, struct cell *ret)
{
	const struct ended_item *item = c->item;

	if (column == START) /* can be after the end in a damaged file */
		cell_time(ret, item->start < item->end ? item->start : item->end);
	else if (column == END)
		cell_time(ret, item->end);
	else if (column == DURATION)
		cell_duration(ret, item->start, item->end);
	else
		cell_thread(ret, c->query->model, (thread_id){ c->number }, column);
}

enum { SYSCALL_NAME = TIMES_END, SYSCALL_NR, SYSCALL_RESULT, SYSCALL_ERROR };

static const struct column syscall_columns[] = {
	THREAD_COLUMNS("thread", COLUMN_ID),
	TIME_COLUMNS("time of the call", "time of the return"),
	[SYSCALL_NAME] = { "name", QUERY_TEXT, COLUMN_PLAIN, "name of the call, such as read" },
	[SYSCALL_NR] = { "nr", QUERY_INT, COLUMN_PLAIN, "system call number" },
	[SYSCALL_RESULT] = { "result", QUERY_INT, COLUMN_PLAIN, "return value" },
	[SYSCALL_ERROR] = { "error", QUERY_TEXT, COLUMN_PLAIN, "error name, such as EAGAIN" },
};

static void syscall_value(struct table_cursor *c, int column, struct cell *ret)
{
	const struct syscall *call = c->item;

	switch (column) {
	case SYSCALL_NAME:
		cell_text(ret, syscall_name(call->nr));
		break;
	case SYSCALL_NR:
		cell_int(ret, call->nr);
		break;
	case SYSCALL_RESULT:
		cell_int(ret, call->result);
		break;
	case SYSCALL_ERROR:
		cell_error(ret, call->result);
		break;
	default:
		times_value(c, column, ret);
	}
}

static const struct timeline *syscall_timeline(struct query *q, uint32_t number)
{
	return thread_own_timeline(q, number, TIMELINE_SYSCALLS);
}

const struct query_table table_syscalls = {
	.name = "syscalls",
	.description = "system calls (sonde record --syscalls)",
	.columns = syscall_columns,
	.column_count = ARRAY_LEN(syscall_columns),
	.sorted = "ag",
	.count = table_thread_count,
	.value = syscall_value,
	.timeline = syscall_timeline,
	.order = BY_END,
};

enum { BLOCK_DEVICE = TIMES_END, BLOCK_OP, BLOCK_SECTOR, BLOCK_BYTES, BLOCK_ERROR };

static const struct column block_io_columns[] = {
	THREAD_COLUMNS("thread", COLUMN_ID),
	TIME_COLUMNS("time of issue", "time of completion"),
	[BLOCK_DEVICE] = { "device", QUERY_TEXT, COLUMN_PLAIN, "device name, such as vda" },
	[BLOCK_OP] = { "op", QUERY_TEXT, COLUMN_PLAIN,
		       "R read, W write, F flush, D discard, ? other" },
	[BLOCK_SECTOR] = { "sector", QUERY_INT, COLUMN_PLAIN,
			   "first sector, in units of 512 bytes" },
	[BLOCK_BYTES] = { "bytes", QUERY_INT, COLUMN_PLAIN, "size in bytes" },
	[BLOCK_ERROR] = { "error", QUERY_TEXT, COLUMN_PLAIN, "error name, such as EIO" },
};

static void block_io_value(struct table_cursor *c, int column, struct cell *ret)
{
	const struct block_io *io = c->item;

	switch (column) {
	case BLOCK_DEVICE:
		cell_device(ret, c->query->model, cursor_thread(c)->host, io->device);
		break;
	case BLOCK_OP:
		ret->buffer[0] = io->op;
		ret->buffer[1] = '\0';
		cell_text(ret, ret->buffer);
		break;
	case BLOCK_SECTOR:
		cell_int(ret, io->sector);
		break;
	case BLOCK_BYTES:
		cell_int(ret, io->bytes);
		break;
	case BLOCK_ERROR:
		cell_error(ret, io->error);
		break;
	default:
		times_value(c, column, ret);
	}
}

static const struct timeline *block_io_timeline(struct query *q, uint32_t number)
{
	return thread_own_timeline(q, number, TIMELINE_BLOCK_IO);
}

const struct query_table table_block_io = {
	.name = "block_io",
	.description = "I/O to block devices, with the issuing thread (sonde record --block)",
	.columns = block_io_columns,
	.column_count = ARRAY_LEN(block_io_columns),
	.sorted = "ag",
	.count = table_thread_count,
	.value = block_io_value,
	.timeline = block_io_timeline,
	.order = BY_END,
};

enum { TIME = THREAD_COLUMN_COUNT, EVENT, STACK = EVENT };

static const struct column probe_columns[] = {
	THREAD_COLUMNS("thread", COLUMN_ID),
	[TIME] = { "time", QUERY_INT, COLUMN_TIME, "time of the event" },
	[EVENT] = { "event", QUERY_TEXT, COLUMN_PLAIN,
		    "event name, such as sched:sched_migrate_task" },
};

static void probe_value(struct table_cursor *c, int column, struct cell *ret)
{
	const struct probe_event *event = c->item;

	if (column == TIME)
		cell_time(ret, event->time);
	else if (column == EVENT)
		cell_text(ret, model_probe_name(c->query->model, event->type));
	else
		cell_thread(ret, c->query->model, (thread_id){ c->number }, column);
}

static const struct timeline *probe_timeline(struct query *q, uint32_t number)
{
	return thread_own_timeline(q, number, TIMELINE_PROBE_EVENTS);
}

const struct query_table table_probe_events = {
	.name = "probe_events",
	.description = "tracepoint events (sonde record -e) and other events of a trace",
	.columns = probe_columns,
	.column_count = ARRAY_LEN(probe_columns),
	.sorted = "af",
	.count = table_thread_count,
	.value = probe_value,
	.timeline = probe_timeline,
};

static const struct column sample_columns[] = {
	THREAD_COLUMNS("thread", COLUMN_ID),
	[TIME] = { "time", QUERY_INT, COLUMN_TIME, "time of the sample" },
	[STACK] = { "stack", QUERY_INT, COLUMN_PLAIN, "stack of the thread, as in stacks.id" },
};

static void sample_value(struct table_cursor *c, int column, struct cell *ret)
{
	const struct sample *sample = c->item;

	if (column == TIME)
		cell_time(ret, sample->time);
	else if (column != STACK)
		cell_thread(ret, c->query->model, (thread_id){ c->number }, column);
	else if (sample->stack)
		cell_int(ret, sample->stack);
}

static const struct timeline *sample_timeline(struct query *q, uint32_t number)
{
	return thread_own_timeline(q, number, TIMELINE_SAMPLES);
}

const struct query_table table_samples = {
	.name = "samples",
	.description = "CPU profile samples (sonde record --profile)",
	.columns = sample_columns,
	.column_count = ARRAY_LEN(sample_columns),
	.sorted = "af",
	.count = table_thread_count,
	.value = sample_value,
	.timeline = sample_timeline,
};
