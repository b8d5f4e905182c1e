/* SPDX-License-Identifier: Apache-2.0 */
/* The size of a model: all memory that it has allocated, used or not. */
#include "model/model_internal.h"

#define list_bytes(list) ((list)->room * sizeof((list)->items[0]))

static size_t thread_bytes(const struct thread *thread)
{
	size_t bytes = timeline_memory(&thread->intervals) + timeline_memory(&thread->causes);

	for (size_t i = 0; i < TIMELINE_COUNT; i++)
		if (thread->timelines[i])
			bytes += sizeof(struct timeline) + timeline_memory(thread->timelines[i]);
	if (thread->log)
		bytes += sizeof(*thread->log) + timeline_memory(&thread->log->recorded);
	return bytes + model_past_memory(thread->past);
}

static size_t threads_bytes(const struct model *model)
{
	size_t bytes = list_bytes(&model->threads) + list_bytes(&model->earlier) +
		       list_bytes(&model->dropped) + list_bytes(&model->unused) +
		       list_bytes(&model->context_threads);

	for (size_t i = 0; i < model->threads.count; i++)
		bytes += thread_bytes(&model->threads.items[i]);
	return bytes;
}

static size_t timelines_bytes(const struct model *model)
{
	size_t bytes = list_bytes(&model->hosts) + list_bytes(&model->queues) +
		       timeline_memory(&model->unread);

	for (size_t i = 0; i < model->hosts.count; i++) {
		bytes += list_bytes(&model->hosts.items[i].cpus);
		for (size_t k = 0; k < model->hosts.items[i].cpus.count; k++)
			bytes += timeline_memory(&model->hosts.items[i].cpus.items[k]);
	}
	for (size_t i = 0; i < model->queues.count; i++)
		bytes += timeline_memory(&model->queues.items[i]);
	return bytes;
}

static size_t maps_bytes(const struct model *model)
{
	const struct map *maps[] = {
		&model->tids,        &model->queue_index,    &model->held_index,
		&model->established, &model->pid_index,      &model->socket_index,
		&model->file_index,  &model->device_index,   &model->listeners,
		&model->futex_index, &model->futex_users,    &model->go_signs,
		&model->span_index,  &model->orphans,        &model->ref_index,
		&model->loss_index,  &model->residency_index
	};
	size_t bytes = 0;

	for (size_t i = 0; i < ARRAY_LEN(maps); i++)
		bytes += maps[i]->room * sizeof(struct map_slot);
	return bytes;
}

static size_t descriptions_bytes(const struct model *model)
{
	return list_bytes(&model->processes) + list_bytes(&model->sockets) +
	       list_bytes(&model->files) + list_bytes(&model->devices) +
	       list_bytes(&model->futexes) + list_bytes(&model->held) +
	       list_bytes(&model->stack_frames) + list_bytes(&model->stacks) +
	       list_bytes(&model->frames) + list_bytes(&model->probe_names) +
	       model_numbers_memory(&model->stack_numbers) +
	       model_numbers_memory(&model->frame_numbers) +
	       model_numbers_memory(&model->probe_numbers) + strtab_memory(model->strings);
}

static size_t spans_bytes(const struct model *model)
{
	return list_bytes(&model->spans) + list_bytes(&model->links) + list_bytes(&model->ranges) +
	       list_bytes(&model->refs) + list_bytes(&model->residencies) +
	       list_bytes(&model->residency_changes) + list_bytes(&model->attributes) +
	       list_bytes(&model->clock_shifts);
}

static size_t losses_bytes(const struct model *model)
{
	size_t bytes = list_bytes(&model->losses) + list_bytes(&model->loss_groups);

	for (size_t i = 0; i < model->loss_groups.count; i++)
		bytes += list_bytes(&model->loss_groups.items[i].starts) +
			 list_bytes(&model->loss_groups.items[i].ends);
	return bytes;
}

static size_t epochs_bytes(const struct model *model)
{
	size_t bytes = list_bytes(&model->epochs);

	for (size_t i = 0; i < model->epochs.count; i++)
		bytes += list_bytes(&model->epochs.items[i].starts);
	return bytes;
}

size_t model_memory(const struct model *model)
{
	return sizeof(*model) + threads_bytes(model) + timelines_bytes(model) + maps_bytes(model) +
	       descriptions_bytes(model) + spans_bytes(model) + losses_bytes(model) +
	       epochs_bytes(model) + flows_memory(&model->flows);
}
