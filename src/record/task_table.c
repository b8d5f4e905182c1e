/* SPDX-License-Identifier: Apache-2.0 */
#include "record/task_table.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

static void free_texts(struct living_task *l)
{
	free(l->cmdline);
	free(l->cgroup);
	l->cmdline = l->cgroup = NULL;
}

void task_table_done(struct task_table *t)
{
	for (size_t i = 0; i < t->tasks.count; i++)
		free_texts(&t->tasks.items[i]);
	vec_done(&t->tasks);
	map_done(&t->index);
}

struct living_task *task_table_find(const struct task_table *t, uint32_t tid)
{
	const uint64_t *at = map_find(&t->index, tid);

	return at ? &t->tasks.items[*at] : NULL;
}

void task_table_add(struct task_table *t, const struct wire_task *wire)
{
	struct living_task *l = task_table_find(t, wire->task.head.tid);

	if (wire->task.event == TASK_OUT_OF_SCOPE)
		return;
	if (!l) {
		*map_insert(&t->index, wire->task.head.tid) = t->tasks.count;
		l = vec_push(&t->tasks);
		*l = (struct living_task){ .task = wire->task };
	} else if (wire->task.event == TASK_NEW) { /* its id is reused: the EXIT was lost */
		free_texts(l);
		l->context = (struct record_context){ 0 };
	}

	uint32_t parent = l->task.parent;

	l->task = wire->task;
	if (!l->task.parent)
		l->task.parent = parent;
	memcpy(l->comm, wire->comm, sizeof(l->comm));
}

/* The last one takes its place. */
void task_table_remove(struct task_table *t, uint32_t tid)
{
	const uint64_t *found = map_find(&t->index, tid);

	if (!found)
		return;

	size_t at = *found, last = t->tasks.count - 1;

	free_texts(&t->tasks.items[at]);
	if (at != last) {
		t->tasks.items[at] = t->tasks.items[last];
		*map_insert(&t->index, t->tasks.items[at].task.head.tid) = at;
	}
	t->tasks.count--;
	map_remove(&t->index, tid);
}

void task_table_set_process(struct task_table *t, uint32_t pid, const char *cmdline,
			    const char *cgroup)
{
	struct living_task *l = task_table_find(t, pid);

	if (!l)
		return;
	free_texts(l);
	l->cmdline = must_strdup(cmdline);
	l->cgroup = must_strdup(cgroup);
}

/* Signal 0 only checks; other users' threads fail with EPERM. */
void task_table_sweep(struct task_table *t)
{
	for (size_t i = t->tasks.count; i-- > 0;) {
		const struct record_task *task = &t->tasks.items[i].task;

		if (syscall(SYS_tgkill, task->pid, task->head.tid, 0) < 0 && errno == ESRCH)
			task_table_remove(t, task->head.tid);
	}
}
