/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks, losses, and the lists of tables and columns. */
#include <inttypes.h>
#include <stdio.h>

#include "query/tables.h"

enum { STACK_ID, STACK_FRAMES, STACK_FUNCTION, STACK_DEPTH, STACK_KERNEL_DEPTH };

static const struct column stack_columns[] = {
	[STACK_ID] = { "id", QUERY_INT, COLUMN_ID, "row number, from 1" },
	[STACK_FRAMES] = { "frames", QUERY_TEXT, COLUMN_PLAIN,
			   "functions, outermost first, separated by semicolons" },
	[STACK_FUNCTION] = { "function", QUERY_TEXT, COLUMN_PLAIN,
			     "innermost function outside the kernel and the C library" },
	[STACK_DEPTH] = { "depth", QUERY_INT, COLUMN_PLAIN, "number of frames" },
	[STACK_KERNEL_DEPTH] = { "kernel_depth", QUERY_INT, COLUMN_PLAIN,
				 "number of frames in the kernel" },
};

static uint32_t stack_count(struct query *q)
{
	return model_stack_count(q->model) - 1; /* number 0 means none */
}

static void stack_value(struct table_cursor *c, int column, struct cell *ret)
{
	struct stack stack = model_stack(c->query->model, c->number);

	switch (column) {
	case STACK_ID:
		cell_int(ret, c->number);
		break;
	case STACK_FRAMES:
		ret->heap = model_stack_text(c->query->model, c->number, ";", false);
		cell_text(ret, ret->heap);
		break;
	case STACK_FUNCTION:
		cell_text(ret, model_stack_function(c->query->model, c->number));
		break;
	case STACK_DEPTH:
		cell_int(ret, stack.count);
		break;
	case STACK_KERNEL_DEPTH:
		cell_int(ret, stack.kernel_count);
		break;
	}
}

static const struct query_table table_stacks = {
	.name = "stacks",
	.description = "stacks of waits, wakeups and samples",
	.columns = stack_columns,
	.column_count = ARRAY_LEN(stack_columns),
	.sorted = "a",
	.count = stack_count,
	.value = stack_value,
};

enum { LOSS_START, LOSS_END, LOSS_COUNT, LOSS_CPU, LOSS_TID, LOSS_PID, LOSS_HOST };

static const struct column loss_columns[] = {
	[LOSS_START] = { "start", QUERY_INT, COLUMN_PLAIN, "earliest time of a lost record" },
	[LOSS_END] = { "end", QUERY_INT, COLUMN_PLAIN, "latest time of a lost record" },
	[LOSS_COUNT] = { "count", QUERY_INT, COLUMN_PLAIN, "number of records; 0 if unknown" },
	[LOSS_CPU] = { "cpu", QUERY_INT, COLUMN_PLAIN, "CPU that lost kernel records" },
	[LOSS_TID] = { "tid", QUERY_INT, COLUMN_PLAIN,
		       "thread ID, if its agent dropped span events" },
	[LOSS_PID] = { "pid", QUERY_INT, COLUMN_PLAIN, "process ID of that thread" },
	[LOSS_HOST] = { "host", QUERY_INT, COLUMN_PLAIN, "host number, from 0" },
};

static uint32_t loss_count(struct query *q)
{
	return model_loss_count(q->model);
}

static void loss_value(struct table_cursor *c, int column, struct cell *ret)
{
	const struct loss *loss = model_loss(c->query->model, c->number - 1);

	switch (column) {
	case LOSS_START:
		cell_time(ret, loss->start);
		break;
	case LOSS_END:
		cell_time(ret, loss->end);
		break;
	case LOSS_COUNT:
		cell_int(ret, loss->count);
		break;
	case LOSS_CPU:
		if (!loss->tid)
			cell_int(ret, loss->cpu);
		break;
	case LOSS_TID ... LOSS_PID:
		if (loss->tid)
			cell_int(ret, column == LOSS_TID ? loss->tid : loss->pid);
		break;
	case LOSS_HOST:
		cell_int(ret, loss->host);
		break;
	}
}

static const struct query_table table_losses = {
	.name = "losses",
	.description = "lost records, by CPU and time",
	.columns = loss_columns,
	.column_count = ARRAY_LEN(loss_columns),
	.sorted = "",
	.count = loss_count,
	.value = loss_value,
};

enum { TABLE_NAME, TABLE_DESCRIPTION };

static const struct column table_table_columns[] = {
	[TABLE_NAME] = { "name", QUERY_TEXT, COLUMN_PLAIN, "table name" },
	[TABLE_DESCRIPTION] = { "description", QUERY_TEXT, COLUMN_PLAIN, "what a row describes" },
};

static uint32_t table_count(struct query *q)
{
	uint32_t count = 0;

	while (query_tables[count])
		count++;
	return count;
}

static void table_value(struct table_cursor *c, int column, struct cell *ret)
{
	const struct query_table *table = query_tables[c->number - 1];

	cell_text(ret, column == TABLE_NAME ? table->name : table->description);
}

static const struct query_table table_tables = {
	.name = "tables",
	.description = "tables of this database",
	.columns = table_table_columns,
	.column_count = ARRAY_LEN(table_table_columns),
	.sorted = "",
	.count = table_count,
	.value = table_value,
};

enum { COLUMN_TABLE, COLUMN_NAME, COLUMN_TYPE, COLUMN_DESCRIPTION };

static const struct column column_columns[] = {
	[COLUMN_TABLE] = { "table_name", QUERY_TEXT, COLUMN_PLAIN, "table name" },
	[COLUMN_NAME] = { "name", QUERY_TEXT, COLUMN_PLAIN, "column name" },
	[COLUMN_TYPE] = { "type", QUERY_TEXT, COLUMN_PLAIN,
			  "INTEGER, REAL, TEXT, or BLOB for values of several types" },
	[COLUMN_DESCRIPTION] = { "description", QUERY_TEXT, COLUMN_PLAIN, "meaning of a value" },
};

static uint32_t column_count(struct query *q)
{
	uint32_t count = 0;

	for (size_t i = 0; query_tables[i]; i++)
		count += query_tables[i]->column_count;
	return count;
}

static void column_value(struct table_cursor *c, int column, struct cell *ret)
{
	const struct query_table *const *table = query_tables;
	int index = c->number - 1;

	while (index >= (*table)->column_count)
		index -= (*table++)->column_count;

	const struct column *shown = &(*table)->columns[index];

	if (column == COLUMN_TABLE)
		cell_text(ret, (*table)->name);
	else if (column == COLUMN_NAME)
		cell_text(ret, shown->name);
	else if (column == COLUMN_TYPE)
		cell_text(ret, query_type_name(shown->type));
	else
		cell_text(ret, shown->description);
}

static const struct query_table table_columns = {
	.name = "columns",
	.description = "columns of these tables",
	.columns = column_columns,
	.column_count = ARRAY_LEN(column_columns),
	.sorted = "",
	.count = column_count,
	.value = column_value,
};

const struct query_table *const query_tables[] = {
	&table_threads,      &table_intervals,   &table_wakeups,  &table_slices,
	&table_messages,     &table_connections, &table_syscalls, &table_block_io,
	&table_probe_events, &table_samples,     &table_stacks,   &table_spans,
	&table_contexts,     &table_attributes,  &table_requests, &table_request_work,
	&table_losses,       &table_tables,      &table_columns,  NULL,
};
