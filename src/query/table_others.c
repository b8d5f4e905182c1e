/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks, losses, and the tables themselves. */
#include <inttypes.h>
#include <stdio.h>

#include "query/tables.h"
#include "report/phrase.h"

enum { STACK_ID, STACK_FRAMES, STACK_FUNCTION, STACK_DEPTH, STACK_KERNEL };

static const struct column stack_columns[] = {
	[STACK_ID] = { "id", QUERY_INT, COLUMN_ID, "number, from 1" },
	[STACK_FRAMES] = { "frames", QUERY_TEXT, COLUMN_PLAIN,
			   "functions, outermost first, as main;work;read" },
	[STACK_FUNCTION] = { "function", QUERY_TEXT, COLUMN_PLAIN,
			     "innermost one that is the program's own" },
	[STACK_DEPTH] = { "depth", QUERY_INT, COLUMN_PLAIN, "how many frames" },
	[STACK_KERNEL] = { "kernel", QUERY_INT, COLUMN_PLAIN, "how many of them in the kernel" },
};

static uint32_t stack_count(struct query *q)
{
	return model_stack_count(q->model) - 1; /* 0 is none */
}

static void put_frame(FILE *file, const struct model *model, uint32_t number)
{
	struct frame frame = model_frame(model, number);
	const char *module = model_string(model, frame.module);

	if (frame.symbol.i)
		fputs(model_string(model, frame.symbol), file);
	else if (*module)
		fprintf(file, "%s+0x%" PRIx64, module, frame.address);
	else
		fprintf(file, "0x%" PRIx64, frame.address);
}

static char *stack_text(const struct model *model, const struct stack *stack)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	for (size_t i = stack->count; i-- > 0;) {
		put_frame(file, model, stack->frames[i]);
		fputs(i ? ";" : "", file);
	}
	fclose(file);
	return text;
}

static void stack_value(struct cursor *c, int column, struct cell *ret)
{
	struct stack stack = model_stack(c->query->model, c->number);

	switch (column) {
	case STACK_ID:
		cell_int(ret, c->number);
		break;
	case STACK_FRAMES:
		ret->heap = stack_text(c->query->model, &stack);
		cell_text(ret, ret->heap);
		break;
	case STACK_FUNCTION:
		cell_text(ret, phrase_function(c->query->model, c->number));
		break;
	case STACK_DEPTH:
		cell_int(ret, stack.count);
		break;
	case STACK_KERNEL:
		cell_int(ret, stack.kernel_count);
		break;
	}
}

static const struct table table_stacks = {
	.name = "stacks",
	.meaning = "where threads waited, woke others, or were executing",
	.columns = stack_columns,
	.column_count = ARRAY_LEN(stack_columns),
	.sorted = "a",
	.count = stack_count,
	.value = stack_value,
};

enum { LOSS_START, LOSS_END, LOSS_COUNT, LOSS_CPU, LOSS_TID, LOSS_PID, LOSS_HOST };

static const struct column loss_columns[] = {
	[LOSS_START] = { "start", QUERY_INT, COLUMN_PLAIN, "since when" },
	[LOSS_END] = { "end", QUERY_INT, COLUMN_PLAIN, "until when" },
	[LOSS_COUNT] = { "count", QUERY_INT, COLUMN_PLAIN, "how many records; 0 if unknown" },
	[LOSS_CPU] = { "cpu", QUERY_INT, COLUMN_PLAIN, "CPU whose kernel records were lost" },
	[LOSS_TID] = { "tid", QUERY_INT, COLUMN_PLAIN, "thread whose agent dropped span events" },
	[LOSS_PID] = { "pid", QUERY_INT, COLUMN_PLAIN, "process of that thread" },
	[LOSS_HOST] = { "host", QUERY_INT, COLUMN_PLAIN, "number of the machine" },
};

static uint32_t loss_count(struct query *q)
{
	return model_loss_count(q->model);
}

static void loss_value(struct cursor *c, int column, struct cell *ret)
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

static const struct table table_losses = {
	.name = "losses",
	.meaning = "records that were dropped when there was no room for them",
	.columns = loss_columns,
	.column_count = ARRAY_LEN(loss_columns),
	.sorted = "",
	.count = loss_count,
	.value = loss_value,
};

enum { TABLE_NAME, TABLE_MEANING };

static const struct column table_table_columns[] = {
	[TABLE_NAME] = { "name", QUERY_TEXT, COLUMN_PLAIN, "of the table" },
	[TABLE_MEANING] = { "meaning", QUERY_TEXT, COLUMN_PLAIN, "what a row is" },
};

static uint32_t table_count(struct query *q)
{
	uint32_t count = 0;

	while (query_tables[count])
		count++;
	return count;
}

static void table_value(struct cursor *c, int column, struct cell *ret)
{
	const struct table *table = query_tables[c->number - 1];

	cell_text(ret, column == TABLE_NAME ? table->name : table->meaning);
}

static const struct table table_tables = {
	.name = "tables",
	.meaning = "these tables",
	.columns = table_table_columns,
	.column_count = ARRAY_LEN(table_table_columns),
	.sorted = "",
	.count = table_count,
	.value = table_value,
};

enum { COLUMN_TABLE, COLUMN_NAME, COLUMN_TYPE, COLUMN_MEANING };

static const struct column column_columns[] = {
	[COLUMN_TABLE] = { "table_name", QUERY_TEXT, COLUMN_PLAIN, "of which table" },
	[COLUMN_NAME] = { "name", QUERY_TEXT, COLUMN_PLAIN, "of the column" },
	[COLUMN_TYPE] = { "type", QUERY_TEXT, COLUMN_PLAIN,
			  "INTEGER, REAL, TEXT or BLOB, which may be any" },
	[COLUMN_MEANING] = { "meaning", QUERY_TEXT, COLUMN_PLAIN, "what it says" },
};

static uint32_t column_count(struct query *q)
{
	uint32_t count = 0;

	for (size_t i = 0; query_tables[i]; i++)
		count += query_tables[i]->column_count;
	return count;
}

static void column_value(struct cursor *c, int column, struct cell *ret)
{
	const struct table *const *table = query_tables;
	int place = c->number - 1;

	while (place >= (*table)->column_count)
		place -= (*table++)->column_count;

	const struct column *shown = &(*table)->columns[place];

	if (column == COLUMN_TABLE)
		cell_text(ret, (*table)->name);
	else if (column == COLUMN_NAME)
		cell_text(ret, shown->name);
	else if (column == COLUMN_TYPE)
		cell_text(ret, type_name(shown->type));
	else
		cell_text(ret, shown->meaning);
}

static const struct table table_columns = {
	.name = "columns",
	.meaning = "their columns",
	.columns = column_columns,
	.column_count = ARRAY_LEN(column_columns),
	.sorted = "",
	.count = column_count,
	.value = column_value,
};

const struct table *const query_tables[] = {
	&table_threads,      &table_intervals,  &table_wakeups,  &table_slices,
	&table_messages,     &table_connects,   &table_calls,    &table_block,
	&table_probe_events, &table_samples,    &table_stacks,   &table_spans,
	&table_contexts,     &table_attributes, &table_requests, &table_request_work,
	&table_losses,       &table_tables,     &table_columns,  NULL,
};
