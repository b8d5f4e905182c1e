/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, and how many there are for all tables that have a line for each. */
#include "analyse/requests/sum.h"
#include "query/tables.h"

uint32_t thread_count(struct query *q)
{
	return model_thread_count(q->model) - 1; /* the first is nobody */
}

enum {
	PROCESS = THREAD_COLUMN_COUNT,
	SERVICE,
	CMDLINE,
	CGROUP,
	CONTAINER,
	KERNEL,
	OUT_OF_SCOPE,
	EXITED,
	PARENT,
	START,
	END,
	NS,
};

static const struct column columns[] = {
	THREAD_COLUMNS("id", COLUMN_ID),
	[PROCESS] = { "process", QUERY_TEXT, COLUMN_PLAIN, "name of its process" },
	[SERVICE] = { "service", QUERY_TEXT, COLUMN_PLAIN,
		      "name of its container, or its process" },
	[CMDLINE] = { "cmdline", QUERY_TEXT, COLUMN_PLAIN, "command line of its process" },
	[CGROUP] = { "cgroup", QUERY_TEXT, COLUMN_PLAIN, "control group of its process" },
	[CONTAINER] = { "container", QUERY_TEXT, COLUMN_PLAIN,
			"its container, if the trace tells" },
	[KERNEL] = { "kernel", QUERY_INT, COLUMN_PLAIN, "1 if it is a thread of the kernel" },
	[OUT_OF_SCOPE] = { "neighbour", QUERY_INT, COLUMN_PLAIN,
			   "1 if only its turns on CPUs are known" },
	[EXITED] = { "exited", QUERY_INT, COLUMN_PLAIN, "1 if its end was seen" },
	[PARENT] = { "parent", QUERY_INT, COLUMN_KEY, "thread that created it, if that was seen" },
	[START] = { "start", QUERY_INT, COLUMN_PLAIN, "since when it is known" },
	[END] = { "end", QUERY_INT, COLUMN_PLAIN, "until when" },
	[NS] = { "ns", QUERY_INT, COLUMN_PLAIN, "how long" },
};

static void process_value(const struct model *model, thread_id id, int column, struct cell *ret)
{
	static const struct process unknown;
	const struct thread *thread = model_thread(model, id);
	const struct process *process = model_process(model, thread->host, thread->pid);

	if (!process)
		process = &unknown;
	switch (column) {
	case PROCESS:
		cell_string(ret, model, model_process_comm(model, id));
		break;
	case SERVICE:
		cell_text(ret, request_service(model, id));
		break;
	case CMDLINE:
		cell_string(ret, model, process->cmdline);
		break;
	case CGROUP:
		cell_string(ret, model, process->cgroup);
		break;
	case CONTAINER:
		cell_string(ret, model, process->container);
		break;
	}
}

static void value(struct cursor *c, int column, struct cell *ret)
{
	const struct model *model = c->query->model;
	const struct thread *thread = cursor_thread(c);

	switch (column) {
	case KERNEL:
		cell_int(ret, thread->kernel);
		break;
	case OUT_OF_SCOPE:
		cell_int(ret, thread->out_of_scope);
		break;
	case EXITED:
		cell_int(ret, thread->exited);
		break;
	case PARENT:
		cell_thread(ret, model, thread->parent, THREAD_ID);
		break;
	case START:
		cell_time(ret, thread->begin);
		break;
	case END:
		cell_time(ret, thread->end);
		break;
	case NS:
		cell_length(ret, thread->begin, thread->end);
		break;
	case PROCESS ... CONTAINER:
		process_value(model, (thread_id){ c->number }, column, ret);
		break;
	default:
		cell_thread(ret, model, (thread_id){ c->number }, column);
	}
}

const struct table table_threads = {
	.name = "threads",
	.meaning = "who was seen",
	.columns = columns,
	.column_count = ARRAY_LEN(columns),
	.sorted = "a",
	.count = thread_count,
	.value = value,
};
