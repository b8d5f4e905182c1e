/* SPDX-License-Identifier: Apache-2.0 */
/* Creates a model, and frees it. */
#include "model/model_internal.h"

struct model *model_new(void)
{
	struct model *model = must_alloc(sizeof(*model));

	model->strings = strtab_new();
	*vec_push(&model->threads) = (struct thread){ 0 };
	*vec_push(&model->earlier) = (struct earlier){ 0 };
	timeline_init(&model->unread, sizeof(struct unread));
	*vec_push(&model->spans) = (struct span){ 0 };
	*vec_push(&model->links) = (struct span_link){ 0 };
	*vec_push(&model->refs) = (struct span_ref){ 0 };
	*vec_push(&model->residencies) = (struct residency){ 0 };
	*vec_push(&model->frames) = (struct frame){ 0 };
	return model;
}

static void host_done(struct host *host)
{
	for (size_t i = 0; i < host->cpus.count; i++)
		timeline_done(&host->cpus.items[i]);
	vec_done(&host->cpus);
}

static void free_lists(struct model *model)
{
	vec_done(&model->threads);
	vec_done(&model->earlier);
	vec_done(&model->dropped);
	vec_done(&model->unused);
	vec_done(&model->epochs);
	vec_done(&model->hosts);
	vec_done(&model->queues);
	vec_done(&model->processes);
	vec_done(&model->sockets);
	vec_done(&model->files);
	vec_done(&model->devices);
	vec_done(&model->futexes);
	vec_done(&model->stack_frames);
	vec_done(&model->frames);
	vec_done(&model->stacks);
	vec_done(&model->probe_names);
	vec_done(&model->spans);
	vec_done(&model->links);
	vec_done(&model->ranges);
	vec_done(&model->refs);
	vec_done(&model->residencies);
	vec_done(&model->residency_changes);
	vec_done(&model->context_threads);
	vec_done(&model->attributes);
	vec_done(&model->losses);
	vec_done(&model->held);
	vec_done(&model->clock_shifts);
}

static void free_maps(struct model *model)
{
	map_done(&model->queue_index);
	map_done(&model->tids);
	map_done(&model->pid_index);
	map_done(&model->socket_index);
	map_done(&model->file_index);
	map_done(&model->futex_index);
	map_done(&model->futex_users);
	map_done(&model->go_signs);
	map_done(&model->device_index);
	map_done(&model->listeners);
	map_done(&model->held_index);
	map_done(&model->established);
	map_done(&model->span_index);
	map_done(&model->ref_index);
	map_done(&model->orphans);
	map_done(&model->residency_index);
}

void model_free(struct model *model)
{
	if (!model)
		return;
	for (size_t i = 0; i < model->threads.count; i++)
		model_thread_done(&model->threads.items[i]);
	for (size_t i = 0; i < model->hosts.count; i++)
		host_done(&model->hosts.items[i]);
	for (size_t i = 0; i < model->queues.count; i++)
		timeline_done(&model->queues.items[i]);
	for (size_t i = 0; i < model->epochs.count; i++)
		vec_done(&model->epochs.items[i].starts);
	model_numbers_done(&model->stack_numbers);
	model_numbers_done(&model->frame_numbers);
	model_numbers_done(&model->probe_numbers);
	timeline_done(&model->unread);
	flows_done(&model->flows);
	model_drop_loss_groups(model);
	free_lists(model);
	free_maps(model);
	strtab_free(model->strings);
	free(model);
}
