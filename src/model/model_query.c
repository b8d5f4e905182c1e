/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups in a finished model. */
#include "model/model.h"

#include "model/model_internal.h"

nsec_t model_begin(const struct model *model)
{
	return model->begin;
}

nsec_t model_end(const struct model *model)
{
	return model->end;
}

nsec_t model_window_begin(const struct model *model)
{
	return model->window_begin;
}

size_t model_thread_count(const struct model *model)
{
	return model->threads.count;
}

const struct thread *model_thread(const struct model *model, thread_id id)
{
	return &model->threads.items[id.i < model->threads.count ? id.i : 0];
}

thread_id model_find_thread(const struct model *model, uint32_t tid, nsec_t t)
{
	return model_host_thread(model, 0, tid, t);
}

bool model_thread_is_followed(const struct model *model, thread_id id)
{
	const struct thread *thread = model_thread(model, id);

	return id.i && !thread->out_of_scope && !thread->kernel;
}

str_id model_process_comm(const struct model *model, thread_id id)
{
	const struct thread *thread = model_thread(model, id);
	thread_id first = thread->pid == thread->tid ? id
						     : model_host_thread(model, thread->host,
									 thread->pid, thread->end);

	return model_thread(model, first.i ? first : id)->comm;
}

str_id model_process_name(const struct model *model, thread_id id)
{
	const struct thread *thread = model_thread(model, id);
	const struct process *process = model_process(model, thread->host, thread->pid);

	return process && process->name.i ? process->name : model_process_comm(model, id);
}

static nsec_t stretch_end(const struct thread *thread, timeline_pos pos)
{
	if (!timeline_next(&thread->intervals, &pos))
		return thread->end;
	return ((const struct interval *)timeline_at(&thread->intervals, pos))->start;
}

static void stretch_fill(const struct thread *thread, timeline_pos pos, struct stretch *ret)
{
	ret->interval = *(const struct interval *)timeline_at(&thread->intervals, pos);
	ret->end = stretch_end(thread, pos);
	ret->pos = pos;
}

bool model_stretch_at(const struct model *model, thread_id id, nsec_t t, struct stretch *ret)
{
	const struct thread *thread = model_thread(model, id);
	timeline_pos pos;

	if (t >= thread->end || !timeline_find(&thread->intervals, t, &pos))
		return false;
	stretch_fill(thread, pos, ret);
	return true;
}

bool model_stretch_before(const struct model *model, thread_id id, nsec_t t, struct stretch *ret)
{
	const struct thread *thread = model_thread(model, id);
	timeline_pos pos;

	if (t == 0 || t > thread->end || !timeline_find(&thread->intervals, t - 1, &pos))
		return false;
	stretch_fill(thread, pos, ret);
	return true;
}

bool model_stretch_next(const struct model *model, thread_id id, struct stretch *s)
{
	const struct thread *thread = model_thread(model, id);

	if (!timeline_next(&thread->intervals, &s->pos))
		return false;
	stretch_fill(thread, s->pos, s);
	return true;
}

const struct cause *model_cause(const struct model *model, thread_id id,
				const struct interval *interval)
{
	const struct thread *thread = model_thread(model, id);
	timeline_pos pos;

	if (!timeline_find(&thread->causes, interval->start, &pos))
		return NULL;

	const struct cause *cause = timeline_at(&thread->causes, pos);

	return cause->start == interval->start ? cause : NULL;
}

const struct timeline *model_slices(const struct model *model, uint16_t host, uint16_t cpu)
{
	const struct host *h = host < model->hosts.count ? &model->hosts.items[host] : NULL;

	return h && cpu < h->cpus.count ? &h->cpus.items[cpu] : NULL;
}

const struct timeline *model_block_io(const struct model *model, uint16_t host, uint32_t device)
{
	return find_indexed(&model->queues, &model->queue_index, host_key(host, device));
}

size_t model_span_count(const struct model *model)
{
	return model->spans.count;
}

const struct span *model_span(const struct model *model, span_id id)
{
	return &model->spans.items[id.i < model->spans.count ? id.i : 0];
}

size_t model_loss_count(const struct model *model)
{
	return model->losses.count;
}

const struct loss *model_loss(const struct model *model, size_t i)
{
	return &model->losses.items[i];
}

const char *model_string(const struct model *model, str_id id)
{
	return strtab_get(model->strings, id);
}

uint64_t model_record_count(const struct model *model)
{
	return model->records;
}

/* Whether a send contains the last byte of a receive; without positions, they are the same. */
static bool has_last_byte(const struct message *sent, const struct message *m)
{
	uint32_t behind = sent->position - m->position;

	return behind < sent->bytes || !behind;
}

const struct message *model_sent_message(const struct model *model, const struct message *m)
{
	const struct timeline *timeline =
		model_thread(model, m->other)->timelines[TIMELINE_MESSAGES];
	timeline_pos pos;

	if (!m->other.i || !timeline || !timeline_find(timeline, m->other_time, &pos))
		return NULL;
	do {
		const struct message *s = timeline_at(timeline, pos);

		if (s->time != m->other_time)
			return NULL;
		if (s->direction == MESSAGE_SEND && has_last_byte(s, m))
			return s;
	} while (timeline_prev(timeline, &pos));
	return NULL;
}
