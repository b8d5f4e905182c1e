/* SPDX-License-Identifier: Apache-2.0 */
#include "report/census.h"

enum life { LIFE_NONE, LIFE_IN_SCOPE, LIFE_NEIGHBOUR };

static void count_process(struct census *census, const struct record_task *r)
{
	uint64_t *seen = map_insert(&census->pids, r->pid);
	bool begins = r->event == TASK_NEW && r->pid == r->head.tid;

	if (!*seen || begins)
		census->processes++;
	*seen = true;
}

static void feed_task(struct census *census, const struct record_task *r)
{
	uint64_t *life = map_insert(&census->lives, r->head.tid);

	if (r->event == TASK_NEW)
		*life = LIFE_NONE;
	if (r->event == TASK_NEIGHBOUR) {
		if (*life == LIFE_NONE) {
			*life = LIFE_NEIGHBOUR;
			census->neighbours++;
		}
		return;
	}
	if (*life == LIFE_IN_SCOPE)
		return;
	if (*life == LIFE_NEIGHBOUR)
		census->neighbours--;
	*life = LIFE_IN_SCOPE;
	census->threads++;
	count_process(census, r);
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
}
