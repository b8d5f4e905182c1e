/* SPDX-License-Identifier: Apache-2.0 */
/* Creates a model, frees it, and drops old time from it. */
#include "model/model_internal.h"

struct model *model_new(void)
{
	struct model *model = must_alloc(sizeof(*model));

	model->strings = strtab_new();
	*vec_push(&model->threads) = (struct thread){ 0 };
	*vec_push(&model->earlier) = (struct earlier){ 0 };
	*vec_push(&model->spans) = (struct span){ 0 };
	*vec_push(&model->refs) = (struct span_ref){ 0 };
	*vec_push(&model->residencies) = (struct residency){ 0 };
	*vec_push(&model->frames) = (struct frame){ 0 };
	return model;
}

static void thread_done(struct thread *thread)
{
	timeline_done(&thread->intervals);
	timeline_done(&thread->causes);
	for (size_t i = 0; i < TIMELINE_COUNT; i++)
		if (thread->timelines[i]) {
			timeline_done(thread->timelines[i]);
			free(TAKE(thread->timelines[i]));
		}
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
	vec_done(&model->hosts);
	vec_done(&model->queues);
	vec_done(&model->processes);
	vec_done(&model->sockets);
	vec_done(&model->files);
	vec_done(&model->futexes);
	vec_done(&model->stack_frames);
	vec_done(&model->frames);
	vec_done(&model->spans);
	vec_done(&model->ranges);
	vec_done(&model->refs);
	vec_done(&model->residencies);
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
	map_done(&model->devices);
	map_done(&model->probe_types);
	map_done(&model->listeners);
	map_done(&model->held_index);
	map_done(&model->established);
	map_done(&model->stacks);
	map_done(&model->stack_numbers);
	map_done(&model->frame_numbers);
	map_done(&model->probe_numbers);
	map_done(&model->span_index);
	map_done(&model->ref_index);
}

void model_free(struct model *model)
{
	if (!model)
		return;
	for (size_t i = 0; i < model->threads.count; i++)
		thread_done(&model->threads.items[i]);
	for (size_t i = 0; i < model->hosts.count; i++)
		host_done(&model->hosts.items[i]);
	for (size_t i = 0; i < model->queues.count; i++)
		timeline_done(&model->queues.items[i]);
	flows_done(&model->flows);
	model_drop_loss_groups(model);
	free_lists(model);
	free_maps(model);
	strtab_free(model->strings);
	free(model);
}

static void thread_forget(struct thread *thread, nsec_t t)
{
	if (thread->exited && thread->end < t) {
		thread_done(thread);
		thread->forgotten = true;
		return;
	}
	timeline_forget(&thread->intervals, t);
	timeline_forget(&thread->causes, t);
	for (size_t i = 0; i < TIMELINE_COUNT; i++)
		if (thread->timelines[i])
			timeline_forget(thread->timelines[i], t);
	if (thread->begin < t)
		thread->begin = thread->end < t ? thread->end : t;
}

void model_forget(struct model *model, nsec_t t)
{
	for (size_t i = 1; i < model->threads.count; i++)
		if (!model->threads.items[i].forgotten)
			thread_forget(&model->threads.items[i], t);
	for (size_t i = 0; i < model->hosts.count; i++)
		for (size_t k = 0; k < model->hosts.items[i].cpus.count; k++)
			timeline_forget(&model->hosts.items[i].cpus.items[k], t);
	for (size_t i = 0; i < model->queues.count; i++)
		timeline_forget(&model->queues.items[i], t);
	flows_forget(&model->flows, t);
	if (model->begin < t)
		model->begin = t;
}
