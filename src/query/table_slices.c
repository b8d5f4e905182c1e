/* SPDX-License-Identifier: Apache-2.0 */
/* Turns on CPUs: a line for each CPU of each machine. */
#include "query/tables.h"

enum { HOST, CPU, START, END, NS, THREAD };

static const struct column columns[] = {
	[HOST] = { "host", QUERY_INT, COLUMN_PLAIN, "number of the machine, from 0" },
	[CPU] = { "cpu", QUERY_INT, COLUMN_KEY, "which" },
	[START] = { "start", QUERY_INT, COLUMN_FROM, "since when" },
	[END] = { "end", QUERY_INT, COLUMN_TO, "until when" },
	[NS] = { "ns", QUERY_INT, COLUMN_PLAIN, "how long" },
	[THREAD + THREAD_ID] = { "thread", QUERY_INT, COLUMN_PLAIN, "who had it" },
	[THREAD + THREAD_PID] = { "pid", QUERY_INT, COLUMN_PLAIN, "its process" },
	[THREAD + THREAD_TID] = { "tid", QUERY_INT, COLUMN_PLAIN, "its tid" },
	[THREAD + THREAD_COMM] = { "comm", QUERY_TEXT, COLUMN_PLAIN, "its name" },
};

static uint32_t host_count(const struct model *model)
{
	uint32_t count = 0;

	for (uint32_t i = 1; i < model_thread_count(model); i++) {
		uint32_t host = model_thread(model, (thread_id){ i })->host;

		count = host >= count ? host + 1 : count;
	}
	return count;
}

static void find_lanes(struct query *q)
{
	uint32_t hosts = host_count(q->model);

	*vec_push(&q->lanes) = (struct lane){ 0 }; /* numbers begin at 1 */
	for (uint32_t host = 0; host < hosts; host++)
		for (uint32_t cpu = 0; cpu <= UINT16_MAX && model_slices(q->model, host, cpu);
		     cpu++)
			*vec_push(&q->lanes) =
				(struct lane){ host, cpu, model_slices(q->model, host, cpu) };
}

static uint32_t count(struct query *q)
{
	if (!q->lanes.count)
		find_lanes(q);
	return q->lanes.count - 1;
}

static const struct timeline *line(struct query *q, uint32_t number)
{
	return q->lanes.items[number].line;
}

static void value(struct cursor *c, int column, struct cell *ret)
{
	const struct lane *lane = &c->query->lanes.items[c->number];
	const struct slice *slice = c->item;

	switch (column) {
	case HOST:
		cell_int(ret, lane->host);
		break;
	case CPU:
		cell_int(ret, lane->cpu);
		break;
	case START:
		cell_time(ret, slice->start);
		break;
	case END:
		cell_time(ret, slice->start + slice->length);
		break;
	case NS:
		cell_int(ret, slice->length);
		break;
	default:
		cell_thread(ret, c->query->model, slice->thread, column - THREAD);
	}
}

const struct table table_slices = {
	.name = "turns",
	.meaning = "who had which CPU, and when",
	.columns = columns,
	.column_count = ARRAY_LEN(columns),
	.sorted = "abc",
	.count = count,
	.value = value,
	.line = line,
	.order = BY_START,
};
