/* SPDX-License-Identifier: Apache-2.0 */
/* On-CPU slices: one timeline per CPU of each host. */
#include "query/tables.h"

enum { HOST, CPU, START, END, DURATION, THREAD };

static const struct column columns[] = {
	[HOST] = { "host", QUERY_INT, COLUMN_PLAIN, "host number, from 0" },
	[CPU] = { "cpu", QUERY_INT, COLUMN_KEY, "CPU number" },
	[START] = { "start", QUERY_INT, COLUMN_FROM, "start of the slice" },
	[END] = { "end", QUERY_INT, COLUMN_TO, "end of the slice" },
	[DURATION] = { "duration", QUERY_INT, COLUMN_PLAIN, "end - start" },
	[THREAD + THREAD_ID] = { "thread", QUERY_INT, COLUMN_PLAIN,
				 "thread that ran, as in threads.id" },
	[THREAD + THREAD_PID] = { "pid", QUERY_INT, COLUMN_PLAIN, "process ID" },
	[THREAD + THREAD_TID] = { "tid", QUERY_INT, COLUMN_PLAIN, "thread ID" },
	[THREAD + THREAD_COMM] = { "comm", QUERY_TEXT, COLUMN_PLAIN, "thread name" },
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

static void find_timelines(struct query *q)
{
	uint32_t hosts = host_count(q->model);

	*vec_push(&q->cpu_slices) = (struct cpu_slices){ 0 }; /* numbers begin at 1 */
	for (uint32_t host = 0; host < hosts; host++)
		for (uint32_t cpu = 0; cpu <= UINT16_MAX && model_slices(q->model, host, cpu);
		     cpu++)
			*vec_push(&q->cpu_slices) =
				(struct cpu_slices){ host, cpu, model_slices(q->model, host, cpu) };
}

static uint32_t count(struct query *q)
{
	if (!q->cpu_slices.count)
		find_timelines(q);
	return q->cpu_slices.count - 1;
}

static const struct timeline *cpu_timeline(struct query *q, uint32_t number)
{
	return q->cpu_slices.items[number].timeline;
}

static void value(struct table_cursor *c, int column, struct cell *ret)
{
	const struct cpu_slices *slices = &c->query->cpu_slices.items[c->number];
	const struct slice *slice = c->item;

	switch (column) {
	case HOST:
		cell_int(ret, slices->host);
		break;
	case CPU:
		cell_int(ret, slices->cpu);
		break;
	case START:
		cell_time(ret, slice->start);
		break;
	case END:
		cell_time(ret, slice->start + slice->length);
		break;
	case DURATION:
		cell_int(ret, slice->length);
		break;
	default:
		cell_thread(ret, c->query->model, slice->thread, column - THREAD);
	}
}

const struct query_table table_slices = {
	.name = "slices",
	.description =
		"on-CPU slices: the thread that ran on each CPU, for all threads of the host",
	.columns = columns,
	.column_count = ARRAY_LEN(columns),
	.sorted = "abc",
	.count = count,
	.value = value,
	.timeline = cpu_timeline,
	.order = BY_START,
};
