/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses: how many records are missing from a period of time.
 *
 * A loss is an interval with a count.  The losses that overlap [from, to] are those that start
 * before `to`, minus those that end before `from`.  Two binary searches over sorted edges with
 * running sums find both, which is fast enough to check every span and every step of a path.
 * Losses are grouped by location: anywhere, on a host, on a CPU, in the agent of a process.
 */
#include <stdlib.h>

#include "base/search.h"
#include "model/model_internal.h"

enum loss_group_kind { ON_HOST = 1, ON_CPU = 2, IN_PROCESS = 3 };

static uint64_t group_key(enum loss_group_kind kind, uint16_t host, uint32_t number)
{
	return (uint64_t)kind << 56 | (uint64_t)host << 32 | number;
}

static void add_edges(struct model *model, uint64_t key, const struct loss *loss)
{
	struct loss_group *group = indexed(&model->loss_groups, &model->loss_index, key);

	/* a damaged file can have an end before the start */
	nsec_t end = loss->end > loss->start ? loss->end : loss->start;

	*vec_push(&group->starts) = (struct loss_edge){ loss->start, loss->count, 1 };
	*vec_push(&group->ends) = (struct loss_edge){ end, loss->count, 1 };
}

static int by_time(const void *a, const void *b)
{
	const struct loss_edge *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* Sorts edges and turns their counts into running sums. */
static void sum_up(loss_edges *edges)
{
	qsort(edges->items, edges->count, sizeof(edges->items[0]), by_time);
	for (size_t i = 1; i < edges->count; i++) {
		edges->items[i].records += edges->items[i - 1].records;
		edges->items[i].losses += edges->items[i - 1].losses;
	}
}

void model_drop_loss_groups(struct model *model)
{
	for (size_t i = 0; i < model->loss_groups.count; i++) {
		vec_done(&model->loss_groups.items[i].starts);
		vec_done(&model->loss_groups.items[i].ends);
	}
	vec_done(&model->loss_groups);
	map_done(&model->loss_index);
}

/* The process in which an agent dropped events; the tid, if the thread is not recorded. */
static uint32_t process_of(const struct model *model, const struct loss *loss)
{
	thread_id id = model_host_thread(model, loss->host, loss->tid, loss->start);

	return model_thread(model, id)->pid ?: loss->tid;
}

static void group_loss(struct model *model, const struct loss *loss)
{
	add_edges(model, 0, loss);
	if (loss->tid) {
		add_edges(model, group_key(IN_PROCESS, loss->host, loss->pid), loss);
	} else {
		add_edges(model, group_key(ON_HOST, loss->host, 0), loss);
		add_edges(model, group_key(ON_CPU, loss->host, loss->cpu), loss);
	}
}

static void group_losses(struct model *model)
{
	model_drop_loss_groups(model);
	for (size_t i = 0; i < model->losses.count; i++)
		group_loss(model, &model->losses.items[i]);
	for (size_t i = 0; i < model->loss_groups.count; i++) {
		sum_up(&model->loss_groups.items[i].starts);
		sum_up(&model->loss_groups.items[i].ends);
	}
}

void model_update_losses(struct model *model)
{
	if (!model->has_new_losses)
		return;
	model->has_new_losses = false;
	for (size_t i = 0; i < model->losses.count; i++) {
		struct loss *loss = &model->losses.items[i];

		if (loss->tid && !loss->pid)
			loss->pid = process_of(model, loss);
	}
	group_losses(model);
}

void model_sweep_losses(struct model *model, nsec_t t)
{
	size_t kept = 0;

	for (size_t i = 0; i < model->losses.count; i++) {
		const struct loss *loss = &model->losses.items[i];

		if (loss->end >= t || loss->start >= t)
			model->losses.items[kept++] = *loss;
	}
	if (kept == model->losses.count)
		return;
	model->losses.count = kept;
	vec_shrink(&model->losses);
	group_losses(model);
}

/* The sum of the edges before t; if inclusive, with those at t. */
static struct lost sum_before(const loss_edges *edges, nsec_t t, bool inclusive)
{
	const struct loss_edge *edge = edges->items;
	size_t count = partition_point(edges->count, i,
				       edge[i].time < t || (inclusive && edge[i].time == t));

	return count ? (struct lost){ edge[count - 1].records, edge[count - 1].losses }
		     : (struct lost){ 0 };
}

static struct lost lost_in(const struct model *model, uint64_t key, nsec_t from, nsec_t to)
{
	const struct loss_group *group = find_indexed(&model->loss_groups, &model->loss_index, key);

	if (!group)
		return (struct lost){ 0 };

	struct lost begun = sum_before(&group->starts, to, true);
	struct lost over = sum_before(&group->ends, from, false);

	return (struct lost){ begun.records - over.records, begun.losses - over.losses };
}

struct lost model_lost(const struct model *model, nsec_t from, nsec_t to)
{
	return lost_in(model, 0, from, to);
}

struct lost model_lost_on_host(const struct model *model, uint16_t host, nsec_t from, nsec_t to)
{
	return lost_in(model, group_key(ON_HOST, host, 0), from, to);
}

struct lost model_lost_on_cpu(const struct model *model, uint16_t host, uint16_t cpu, nsec_t from,
			      nsec_t to)
{
	return lost_in(model, group_key(ON_CPU, host, cpu), from, to);
}

struct lost model_lost_in_process(const struct model *model, uint16_t host, uint32_t pid,
				  nsec_t from, nsec_t to)
{
	return lost_in(model, group_key(IN_PROCESS, host, pid), from, to);
}
