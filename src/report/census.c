/* SPDX-License-Identifier: Apache-2.0 */
#include "report/census.h"

enum life { LIFE_NONE, LIFE_IN_SCOPE, LIFE_OUT_OF_SCOPE };

static void join_process(struct census *census, const struct record_task *r)
{
	uint64_t *threads = map_insert(&census->pids, r->pid);

	if (r->event == TASK_NEW && r->pid == r->head.tid)
		*threads = 0; /* the number is used again */
	if (!(*threads)++)
		census->processes++;
	*map_insert(&census->homes, r->head.tid) = (uint64_t)r->pid + 1;
}

/* A process without threads was none, but a thread whose process was unknown. */
static void change_process(struct census *census, const struct record_task *r)
{
	const uint64_t *home = map_find(&census->homes, r->head.tid);
	uint64_t *threads = home ? map_find(&census->pids, *home - 1) : NULL;

	if (!threads || *home == (uint64_t)r->pid + 1)
		return;
	if (*threads && !--*threads)
		census->processes--;
	join_process(census, r);
}

static void feed_task(struct census *census, const struct record_task *r)
{
	uint64_t *life = map_insert(&census->lives, r->head.tid);

	if (r->event == TASK_NEW)
		*life = LIFE_NONE;
	if (r->event == TASK_OUT_OF_SCOPE) {
		if (*life == LIFE_NONE) {
			*life = LIFE_OUT_OF_SCOPE;
			census->other_tasks++;
		}
		return;
	}
	if (*life == LIFE_IN_SCOPE) {
		change_process(census, r);
		return;
	}
	if (*life == LIFE_OUT_OF_SCOPE)
		census->other_tasks--;
	*life = LIFE_IN_SCOPE;
	census->threads++;
	join_process(census, r);
}

void census_feed(struct census *census, const struct record *record)
{
	if (record->kind == RECORD_TASK)
		feed_task(census, (const void *)record);
	else if (record->kind == RECORD_EXIT)
		*map_insert(&census->lives, record->tid) = LIFE_NONE;
}

void census_done(struct census *census)
{
	map_done(&census->lives);
	map_done(&census->pids);
	map_done(&census->homes);
}
