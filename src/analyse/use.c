/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/use.h"

#include <string.h>

static void count_probe_event(probe_event_counts *probe_events, uint32_t type)
{
	for (size_t i = 0; i < probe_events->count; i++)
		if (probe_events->items[i].type == type) {
			probe_events->items[i].count++;
			return;
		}
	*vec_push(probe_events) = (struct probe_event_count){ type, 1 };
}

/*
 * The time of a message is its end.  So a message sent at the end of a step belongs to that step,
 * and a message received at its start as well.
 */
static void count_message(struct resources *used, const struct message *m, const struct step *step)
{
	if (m->time == (m->direction == MESSAGE_SEND ? step->start : step->end))
		return;
	if (m->direction == MESSAGE_SEND) {
		used->sent += m->bytes;
		used->sends++;
	} else {
		used->received += m->bytes;
		used->receives++;
	}
}

static void count_block_io(struct resources *used, const struct block_io *r)
{
	if (r->op == 'R') {
		used->disk_read += r->bytes;
		used->disk_reads++;
	} else {
		used->disk_written += r->bytes;
		used->disk_writes++;
	}
}

nsec_t use_irq(const struct stretch *s, nsec_t from, nsec_t to)
{
	nsec_t length = s->end - s->interval.start;

	return length ? (double)s->interval.irq * (to - from) / length : 0;
}

static nsec_t irq_part(const struct model *model, const struct step *step)
{
	struct stretch s;

	return model_stretch_at(model, step->thread, step->start, &s)
		       ? use_irq(&s, step->start, step->end)
		       : 0;
}

static void count_use(struct resources *used, probe_event_counts *probe_events,
		      const struct model *model, const struct step *step)
{
	struct timeline *const *timelines = model_thread(model, step->thread)->timelines;

	if (step->state == STATE_READY || step->state == STATE_THROTTLED)
		used->preempted += step->preempted;
	else if (step->state != STATE_RUNNING)
		used->blocked++;
	TIMELINE_EACH_BETWEEN(struct message, m, timelines[TIMELINE_MESSAGES], step->start,
			      step->end + 1)
	count_message(used, m, step);
	TIMELINE_EACH_BETWEEN(struct block_io, r, timelines[TIMELINE_BLOCK_IO], step->start,
			      step->end)
	count_block_io(used, r);
	TIMELINE_EACH_BETWEEN(struct syscall, c, timelines[TIMELINE_SYSCALLS], step->start,
			      step->end)
	used->calls++;
	TIMELINE_EACH_BETWEEN(struct probe_event, h, timelines[TIMELINE_PROBE_EVENTS], step->start,
			      step->end)
	count_probe_event(probe_events, h->type);
	if (step->state == STATE_RUNNING)
		used->cpu += step->end - step->start;
}

nsec_t use_add(struct resources *used, probe_event_counts *probe_events, const struct model *model,
	       const struct step *step)
{
	if (!step->thread.i || step->flags & STEP_DERIVED)
		return 0;
	if (!step->other)
		count_use(used, probe_events, model, step);
	return step->state == STATE_RUNNING ? irq_part(model, step) : 0;
}

static nsec_t overlap(nsec_t a_start, nsec_t a_end, nsec_t b_start, nsec_t b_end)
{
	nsec_t start = a_start > b_start ? a_start : b_start;
	nsec_t end = a_end < b_end ? a_end : b_end;

	return start < end ? end - start : 0;
}

/* Another process is reported as a whole, the waiting process by thread. */
static void share_slice(struct use_sharing *sharing, const struct step *step,
			const struct slice *slice, nsec_t part, uint32_t node)
{
	const struct thread *own = model_thread(sharing->model, step->thread);
	const struct thread *other = model_thread(sharing->model, slice->thread);
	bool same_process = own->pid == other->pid && own->host == other->host;

	sharing->fn(sharing->arg, node,
		    &(struct share){
			    .name = same_process
					    ? other->comm
					    : model_process_name(sharing->model, slice->thread),
			    .pid = other->pid,
			    .thread = same_process ? slice->thread : (thread_id){ 0 },
			    .time = part,
		    });
}

/* Other threads on the CPU that the thread waits for; never the thread itself. */
static void share_cpu(struct use_sharing *sharing, const struct step *step, uint32_t node)
{
	const struct timeline *slices = model_slices(
		sharing->model, model_thread(sharing->model, step->thread)->host, step->cpu);
	timeline_pos pos;

	if (!slices || (!timeline_find(slices, step->start, &pos) && !timeline_first(slices, &pos)))
		return;
	do {
		const struct slice *slice = timeline_at(slices, pos);
		nsec_t part =
			overlap(slice->start, slice->start + slice->length, step->start, step->end);

		if (slice->start >= step->end)
			break;
		if (part && slice->thread.i != step->thread.i)
			share_slice(sharing, step, slice, part, node);
	} while (timeline_next(slices, &pos));
}

/* A flush that a kernel worker issues is a part of another process's write. */
static bool is_kernel_flush(const struct block_io *r, const struct thread *issuer)
{
	return r->op == 'F' && (issuer->kernel || !issuer->comm.i);
}

static struct disk_queue *queue_of(struct use_sharing *sharing, const struct cause *cause)
{
	uint32_t device = cause->object_kind == OBJECT_BLOCK_DEVICE
				  ? cause->object
				  : model_file_device(sharing->model, cause->host, cause->object);
	const struct timeline *timeline = model_block_io(sharing->model, cause->host, device);

	uint64_t *at = map_insert(&sharing->queue_index, (uintptr_t)timeline);

	if (!*at) {
		disk_queue_init(vec_push(&sharing->queues), timeline, sharing->start, sharing->end);
		*at = sharing->queues.count;
	}
	return &sharing->queues.items[*at - 1];
}

/* Processes with I/O in the queue of the disk that the thread waits for. */
static void share_disk(struct use_sharing *sharing, const struct step *step,
		       const struct cause *cause, uint32_t node)
{
	struct disk_queue *queue = queue_of(sharing, cause);
	uint32_t pid = model_thread(sharing->model, step->thread)->pid;

	disk_queue_move(queue, step->start, step->end);
	for (size_t i = 0; i < queue->current.count; i++) {
		const struct block_io *r = queue->current.items[i];
		const struct thread *issuer = model_thread(sharing->model, r->issuer);
		nsec_t part = overlap(r->start, r->end, step->start, step->end);

		if (part && issuer->pid != pid && !is_kernel_flush(r, issuer))
			sharing->fn(sharing->arg, node,
				    &(struct share){
					    .name = model_process_name(sharing->model, r->issuer),
					    .pid = issuer->pid,
					    .time = part });
	}
}

/* The function of a sample: the innermost in user space, or else in the kernel. */
static str_id sample_function(const struct model *model, uint32_t number)
{
	struct stack stack = model_stack(model, number);

	if (stack.count > stack.kernel_count)
		return model_frame(model, stack.frames[stack.kernel_count]).symbol;
	return stack.count ? model_frame(model, stack.frames[0]).symbol : (str_id){ 0 };
}

static void share_functions(struct use_sharing *sharing, const struct step *step, uint32_t node)
{
	const struct timeline *samples =
		model_thread(sharing->model, step->thread)->timelines[TIMELINE_SAMPLES];

	TIMELINE_EACH_BETWEEN(struct sample, s, samples, step->start, step->end)
	{
		str_id name = sample_function(sharing->model, s->stack);

		if (name.i)
			sharing->fn(sharing->arg, node, &(struct share){ .name = name, .time = 1 });
	}
}

void use_shares(struct use_sharing *sharing, const struct step *step, const struct cause *cause,
		uint32_t node)
{
	if (!step->thread.i)
		return;
	if (step->state == STATE_READY)
		share_cpu(sharing, step, node);
	else if (step->state == STATE_DISK && cause &&
		 (cause->object_kind == OBJECT_FILE || cause->object_kind == OBJECT_BLOCK_DEVICE))
		share_disk(sharing, step, cause, node);
	else if (step->state == STATE_RUNNING)
		share_functions(sharing, step, node);
}

void use_sharing_done(struct use_sharing *sharing)
{
	for (size_t i = 0; i < sharing->queues.count; i++)
		disk_queue_done(&sharing->queues.items[i]);
	vec_done(&sharing->queues);
	map_done(&sharing->queue_index);
}
