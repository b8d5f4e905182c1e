/* SPDX-License-Identifier: Apache-2.0 */
/* Threads. */
#include "analyse/requests/sum.h"
#include "query/tables.h"

uint32_t table_thread_count(struct query *q)
{
	return model_thread_count(q->model) - 1; /* number 0 means none */
}

enum {
	PROCESS = THREAD_COLUMN_COUNT,
	SERVICE,
	CMDLINE,
	CGROUP,
	CONTAINER,
	KERNEL,
	IN_SCOPE,
	EXITED,
	PARENT,
	START,
	END,
	DURATION,
};

static const struct column columns[] = {
	THREAD_COLUMNS("id", COLUMN_ID),
	[PROCESS] = { "process", QUERY_TEXT, COLUMN_PLAIN, "process name" },
	[SERVICE] = { "service", QUERY_TEXT, COLUMN_PLAIN,
		      "container name, or process name if there is no container" },
	[CMDLINE] = { "cmdline", QUERY_TEXT, COLUMN_PLAIN, "command line of the process" },
	[CGROUP] = { "cgroup", QUERY_TEXT, COLUMN_PLAIN, "control group of the process" },
	[CONTAINER] = { "container", QUERY_TEXT, COLUMN_PLAIN, "container name, if recorded" },
	[KERNEL] = { "kernel", QUERY_INT, COLUMN_PLAIN, "1 if it is a kernel thread" },
	[IN_SCOPE] = { "in_scope", QUERY_INT, COLUMN_PLAIN,
		       "1 if recorded in full, 0 if only its on-CPU slices are" },
	[EXITED] = { "exited", QUERY_INT, COLUMN_PLAIN, "1 if its exit was recorded" },
	[PARENT] = { "parent", QUERY_INT, COLUMN_KEY,
		     "thread that created it, as in threads.id; NULL if not recorded" },
	[START] = { "start", QUERY_INT, COLUMN_PLAIN, "time of its first record" },
	[END] = { "end", QUERY_INT, COLUMN_PLAIN, "time of its last record" },
	[DURATION] = { "duration", QUERY_INT, COLUMN_PLAIN, "end - start" },
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
		cell_string(ret, model, model_process_name(model, id));
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

static void value(struct table_cursor *c, int column, struct cell *ret)
{
	const struct model *model = c->query->model;
	const struct thread *thread = cursor_thread(c);

	switch (column) {
	case KERNEL:
		cell_int(ret, thread->kernel);
		break;
	case IN_SCOPE:
		cell_int(ret, !thread->out_of_scope);
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
	case DURATION:
		cell_duration(ret, thread->begin, thread->end);
		break;
	case PROCESS ... CONTAINER:
		process_value(model, (thread_id){ c->number }, column, ret);
		break;
	default:
		cell_thread(ret, model, (thread_id){ c->number }, column);
	}
}

const struct query_table table_threads = {
	.name = "threads",
	.description = "threads of all hosts, in and out of scope",
	.columns = columns,
	.column_count = ARRAY_LEN(columns),
	.sorted = "a",
	.count = table_thread_count,
	.value = value,
};
