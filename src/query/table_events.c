/* SPDX-License-Identifier: Apache-2.0 */
/* What else there is on the lines of threads: system calls, disk requests, hits, samples. */
#include "event/syscall.h"
#include "query/tables.h"

enum { START = THREAD_COLUMN_COUNT, END, NS, LENGTH_END };

#define LENGTH_COLUMNS(from, to) \
	[START] = { "start", QUERY_INT, COLUMN_FROM, from }, \
	[END] = { "end", QUERY_INT, COLUMN_TO, to }, \
	[NS] = { "ns", QUERY_INT, COLUMN_PLAIN, "how long it took" }

/* The columns of threads and those of length, which what takes time begins with. */
static void length_value(struct cursor *c, int column, struct cell *ret)
{
	const struct ended *item = c->item;

	if (column == START) /* in a damaged file, that may be later than the end */
		cell_time(ret, item->start < item->end ? item->start : item->end);
	else if (column == END)
		cell_time(ret, item->end);
	else if (column == NS)
		cell_length(ret, item->start, item->end);
	else
		cell_thread(ret, c->query->model, (thread_id){ c->number }, column);
}

enum { CALL_NAME = LENGTH_END, CALL_NR, CALL_RESULT, CALL_ERROR };

static const struct column call_columns[] = {
	THREAD_COLUMNS("thread", COLUMN_ID),
	LENGTH_COLUMNS("when it was called", "when it returned"),
	[CALL_NAME] = { "name", QUERY_TEXT, COLUMN_PLAIN, "of the call, as read" },
	[CALL_NR] = { "nr", QUERY_INT, COLUMN_PLAIN, "its number" },
	[CALL_RESULT] = { "result", QUERY_INT, COLUMN_PLAIN, "what it returned" },
	[CALL_ERROR] = { "error", QUERY_TEXT, COLUMN_PLAIN, "name of the error, as EAGAIN" },
};

static void call_value(struct cursor *c, int column, struct cell *ret)
{
	const struct syscall *call = c->item;

	switch (column) {
	case CALL_NAME:
		cell_text(ret, syscall_name(call->nr));
		break;
	case CALL_NR:
		cell_int(ret, call->nr);
		break;
	case CALL_RESULT:
		cell_int(ret, call->result);
		break;
	case CALL_ERROR:
		cell_error(ret, call->result);
		break;
	default:
		length_value(c, column, ret);
	}
}

static const struct timeline *call_line(struct query *q, uint32_t number)
{
	return own_timeline(q, number, TIMELINE_SYSCALLS);
}

const struct table table_calls = {
	.name = "calls",
	.meaning = "system calls (of sonde record --syscalls)",
	.columns = call_columns,
	.column_count = ARRAY_LEN(call_columns),
	.sorted = "ag",
	.count = thread_count,
	.value = call_value,
	.line = call_line,
	.order = BY_END,
};

enum { BLOCK_DEVICE = LENGTH_END, BLOCK_OP, BLOCK_SECTOR, BLOCK_BYTES, BLOCK_ERROR };

static const struct column block_columns[] = {
	THREAD_COLUMNS("thread", COLUMN_ID),
	LENGTH_COLUMNS("when it was issued", "when it was done"),
	[BLOCK_DEVICE] = { "device", QUERY_TEXT, COLUMN_PLAIN, "name, as vda" },
	[BLOCK_OP] = { "op", QUERY_TEXT, COLUMN_PLAIN, "R, W, F flush, D discard, ? other" },
	[BLOCK_SECTOR] = { "sector", QUERY_INT, COLUMN_PLAIN, "where, in units of 512 bytes" },
	[BLOCK_BYTES] = { "bytes", QUERY_INT, COLUMN_PLAIN, "how many" },
	[BLOCK_ERROR] = { "error", QUERY_TEXT, COLUMN_PLAIN, "name of the error, as EIO" },
};

static void block_value(struct cursor *c, int column, struct cell *ret)
{
	const struct block_io *request = c->item;

	switch (column) {
	case BLOCK_DEVICE:
		cell_device(ret, c->query->model, cursor_thread(c)->host, request->device);
		break;
	case BLOCK_OP:
		ret->buffer[0] = request->op;
		ret->buffer[1] = '\0';
		cell_text(ret, ret->buffer);
		break;
	case BLOCK_SECTOR:
		cell_int(ret, request->sector);
		break;
	case BLOCK_BYTES:
		cell_int(ret, request->bytes);
		break;
	case BLOCK_ERROR:
		cell_error(ret, request->error);
		break;
	default:
		length_value(c, column, ret);
	}
}

static const struct timeline *block_line(struct query *q, uint32_t number)
{
	return own_timeline(q, number, TIMELINE_BLOCK_IO);
}

const struct table table_block = {
	.name = "block",
	.meaning = "requests to block devices, by who issued them (of sonde record --block)",
	.columns = block_columns,
	.column_count = ARRAY_LEN(block_columns),
	.sorted = "ag",
	.count = thread_count,
	.value = block_value,
	.line = block_line,
	.order = BY_END,
};

enum { TIME = THREAD_COLUMN_COUNT, WHAT };

static const struct column probe_columns[] = {
	THREAD_COLUMNS("thread", COLUMN_ID),
	[TIME] = { "time", QUERY_INT, COLUMN_TIME, "when" },
	[WHAT] = { "event", QUERY_TEXT, COLUMN_PLAIN, "as sched:sched_migrate_task" },
};

static void probe_value(struct cursor *c, int column, struct cell *ret)
{
	const struct probe_event *probe_event = c->item;

	if (column == TIME)
		cell_time(ret, probe_event->time);
	else if (column == WHAT)
		cell_text(ret, model_probe_name(c->query->model, probe_event->type));
	else
		cell_thread(ret, c->query->model, (thread_id){ c->number }, column);
}

static const struct timeline *probe_line(struct query *q, uint32_t number)
{
	return own_timeline(q, number, TIMELINE_PROBE_EVENTS);
}

const struct table table_probe_events = {
	.name = "hits",
	.meaning = "tracepoints that were asked for (of sonde record -e), and other events",
	.columns = probe_columns,
	.column_count = ARRAY_LEN(probe_columns),
	.sorted = "af",
	.count = thread_count,
	.value = probe_value,
	.line = probe_line,
};

static const struct column sample_columns[] = {
	THREAD_COLUMNS("thread", COLUMN_ID),
	[TIME] = { "time", QUERY_INT, COLUMN_TIME, "when" },
	[WHAT] = { "stack", QUERY_INT, COLUMN_PLAIN, "where it was executing, as in stacks.id" },
};

static void sample_value(struct cursor *c, int column, struct cell *ret)
{
	const struct sample *sample = c->item;

	if (column == TIME)
		cell_time(ret, sample->time);
	else if (column != WHAT)
		cell_thread(ret, c->query->model, (thread_id){ c->number }, column);
	else if (sample->stack)
		cell_int(ret, sample->stack);
}

static const struct timeline *sample_line(struct query *q, uint32_t number)
{
	return own_timeline(q, number, TIMELINE_SAMPLES);
}

const struct table table_samples = {
	.name = "samples",
	.meaning = "where threads were executing (of sonde record --profile)",
	.columns = sample_columns,
	.column_count = ARRAY_LEN(sample_columns),
	.sorted = "af",
	.count = thread_count,
	.value = sample_value,
	.line = sample_line,
};
