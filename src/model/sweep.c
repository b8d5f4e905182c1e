/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sliding window: model_forget() and its sweeps.
 *
 * Each call drops the old part of all timelines, and threads that have ended.  Everything else is
 * in tables, and dropped by a sweep, which goes through all tables.  It is due once the
 * window has moved by its own length.  Then most of what the tables hold is new since the last
 * sweep, so that the cost of sweeps is linear in the number of records.  A model thus holds at most
 * two windows of spans, losses, strings and descriptions.
 */
#include "model/model_internal.h"

static void forget_timelines(struct model *model, nsec_t t)
{
	for (size_t i = 0; i < model->hosts.count; i++)
		for (size_t k = 0; k < model->hosts.items[i].cpus.count; k++) {
			struct timeline *slices = &model->hosts.items[i].cpus.items[k];
			const struct slice *last;

			timeline_forget(slices, t);
			last = timeline_last(slices);
			if (last && last->start + last->length <= t)
				timeline_done(slices);
		}
	for (size_t i = 0; i < model->queues.count; i++)
		timeline_forget_before(&model->queues.items[i], t);
	timeline_forget_before(&model->unread, t);
}

/* A process stays while it has a thread. */
static void keep_processes_of_threads(struct model *model)
{
	for (uint32_t i = 1; i < model->threads.count; i++) {
		const struct thread *thread = &model->threads.items[i];
		struct process *process = find_indexed(&model->processes, &model->pid_index,
						       host_key(thread->host, thread->pid));

		if (process && !thread->forgotten && thread->input < model->epochs.count)
			process->described =
				(struct described){ model->epochs.items[thread->input].number,
						    thread->input };
	}
}

static void sweep_descriptions(struct model *model)
{
	keep_processes_of_threads(model);
	sweep_indexed(&model->processes, &model->pid_index, process,
		      model_is_needed(model, process->described));
	sweep_indexed(&model->sockets, &model->socket_index, socket,
		      model_is_needed(model, socket->described));
	sweep_indexed(&model->files, &model->file_index, file,
		      model_is_needed(model, file->described));
	sweep_indexed(&model->devices, &model->device_index, device,
		      model_is_needed(model, device->described));
}

/* The timeline of a device without block I/O in the window has no memory of its own. */
static void sweep_queues(struct model *model)
{
	for (size_t i = 0; i < model->queues.count; i++)
		if (!model->queues.items[i].chunk_count)
			timeline_done(&model->queues.items[i]);
	sweep_indexed(&model->queues, &model->queue_index, queue, queue->chunk_count);
}

static bool is_time_since(void *arg, uint64_t key, uint64_t *value)
{
	return *value >= *(const nsec_t *)arg;
}

static void sweep_connections(struct model *model, nsec_t t)
{
	model_sweep_held(model, t);
	map_sweep(&model->established, is_time_since, &t);
	if (model->listeners.count > MODEL_FACTS_MAX)
		map_sweep(&model->listeners, is_time_since, &t);
}

#define mark(used, id) ((used)[(id).i] = true)

static void mark_names(const struct model *model, bool *used)
{
	for (size_t i = 0; i < model->threads.count; i++)
		mark(used, model->threads.items[i].comm);
	for (size_t i = 0; i < model->processes.count; i++) {
		const struct process *process = &model->processes.items[i];

		mark(used, process->cmdline);
		mark(used, process->cgroup);
		mark(used, process->container);
		mark(used, process->name);
		mark(used, process->comm);
	}
	for (size_t i = 0; i < model->files.count; i++)
		mark(used, model->files.items[i].name);
	for (size_t i = 0; i < model->devices.count; i++)
		mark(used, model->devices.items[i].name);
	for (size_t i = 0; i < model->probe_names.count; i++)
		mark(used, model->probe_names.items[i]);
	for (size_t i = 0; i < model->frames.count; i++) {
		mark(used, model->frames.items[i].module);
		mark(used, model->frames.items[i].symbol);
		mark(used, model->frames.items[i].source);
	}
}

static void mark_span_names(const struct model *model, bool *used)
{
	for (size_t i = 0; i < model->spans.count; i++) {
		mark(used, model->spans.items[i].service);
		mark(used, model->spans.items[i].operation);
		mark(used, model->spans.items[i].host_name);
	}
	for (size_t i = 0; i < model->attributes.count; i++) {
		const struct attribute *attribute = &model->attributes.items[i];

		mark(used, attribute->key);
		if (attribute->type == ATTRIBUTE_STRING)
			used[attribute->value] = true;
	}
	for (size_t i = 0; i < model->clock_shifts.count; i++)
		mark(used, model->clock_shifts.items[i].service);
}

static void sweep_strings(struct model *model)
{
	_cleanup_(freep) bool *used = must_alloc(strtab_count(model->strings) * sizeof(*used));

	mark_names(model, used);
	mark_span_names(model, used);
	strtab_sweep(model->strings, used);
}

static void sweep(struct model *model, nsec_t t)
{
	model_forget_epochs(model, t);
	model_sweep_contexts(model, model_sweep_spans(model, t));
	model_sweep_losses(model, t);
	sweep_descriptions(model);
	sweep_queues(model);
	sweep_connections(model, t);
	model_sweep_futexes(model, t);
	model_sweep_stacks(model);
	model_sweep_threads(model);
	sweep_strings(model);
	map_shrink(&model->tids);
	model->sweeps++;
	model->swept = t;
}

void model_forget(struct model *model, nsec_t t)
{
	nsec_t window = model->end > t ? model->end - t : 0;
	nsec_t gone = model->epochs.count && t > 2 * window ? t - 2 * window : 0;

	model_forget_threads(model, t);
	forget_timelines(model, t);
	flows_forget(&model->flows, t, gone);
	if (t > model->swept && t - model->swept >= window)
		sweep(model, t);
	if (model->begin < t)
		model->begin = t;
	if (model->window_begin < t)
		model->window_begin = t;
}
