/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a model from records.
 *
 * A thread is one life of a tid: when the kernel reuses a tid, that is another thread.
 * The timeline of a thread has only the starts of its intervals, and an interval
 * ends where the next one begins.  So a missing record shows as a gap and can never
 * make two states overlap.
 */
#include "model/model.h"

#include <string.h>

#include "model/model_internal.h"

/* The thread has states from start on, so it is in scope, even if its TASK record was lost. */
static void come_into_scope(struct thread *thread, nsec_t start)
{
	if (!thread->out_of_scope)
		return;
	thread->out_of_scope = false;
	if (!timeline_last(&thread->intervals))
		thread->begin = thread->end = start;
}

/* Appends an interval up to `end`, with a gap before it if needed; NULL if it adds nothing. */
static const struct interval *add_interval(struct thread *thread, struct interval interval,
					   nsec_t end)
{
	if (interval.start < thread->end)
		interval.start = thread->end;
	if (end <= interval.start)
		return NULL;
	if (interval.start > thread->end)
		*(struct interval *)timeline_push(&thread->intervals) =
			(struct interval){ .start = thread->end, .state = STATE_GAP };
	thread->end = end;

	struct interval *added = timeline_push(&thread->intervals);

	*added = interval;
	return added;
}

/* The slices on a CPU. */
static struct timeline *cpu_timeline(struct model *model, uint16_t host, uint16_t cpu)
{
	while (model->hosts.count <= host)
		*vec_push(&model->hosts) = (struct host){ 0 };

	struct host *h = &model->hosts.items[host];

	while (h->cpus.count <= cpu)
		timeline_init(vec_push(&h->cpus), sizeof(struct slice));
	return &h->cpus.items[cpu];
}

/* ns; a slice of years is a broken record, of which only the last days are used. */
#define SLICE_MAX (65536ull * UINT32_MAX)

/* Two captures of a host can contain the same slice, so add only what is new. */
static void add_slice(struct timeline *timeline, thread_id thread, nsec_t start, nsec_t end)
{
	const struct slice *last = timeline_last(timeline);

	if (last && start < last->start + last->length)
		start = last->start + last->length;
	if (start < end && end - start > SLICE_MAX)
		start = end - SLICE_MAX;
	while (start < end) {
		nsec_t length = end - start < UINT32_MAX ? end - start : UINT32_MAX;

		*(struct slice *)timeline_push(timeline) = (struct slice){ start, thread, length };
		start += length;
	}
}

static void add_run(struct model *model, const struct source *source, const struct record_run *r)
{
	nsec_t start = source_time(source, r->start), end = source_time(source, r->head.time);
	thread_id id = model_thread_of(model, source, r->head.tid, start);
	struct thread *thread = thread_at(model, id);

	thread_used(thread, end);
	add_slice(cpu_timeline(model, source->host, r->head.cpu), id, start, end);
	if (r->flags & INTERVAL_OUT_OF_SCOPE) {
		if (thread->out_of_scope)
			thread->end = end;
		return;
	}
	come_into_scope(thread, start);
	add_interval(thread,
		     (struct interval){ .start = start,
					.irq = r->irq,
					.cpu = r->head.cpu,
					.state = STATE_RUNNING,
					.flags = r->flags },
		     end);
}

static void add_blocked(struct model *model, const struct source *source,
			const struct record_wait *r, thread_id waker, thread_id id, nsec_t woken)
{
	struct thread *thread = thread_at(model, id);
	bool still_blocked = r->woken == r->head.time; /* when the recording ended */
	const struct interval *added = add_interval(
		thread,
		(struct interval){ .start = source_time(source, r->start),
				   .cpu = r->head.cpu,
				   .state = r->state,
				   .flags = still_blocked ? r->flags : r->flags & ~INTERVAL_OPEN },
		woken);

	if (!added)
		return;

	struct cause *cause = timeline_push(&thread->causes);

	*cause = (struct cause){
		.start = added->start,
		.object = r->object,
		.waker = waker,
		.stack = model_own_number(model, &model->stack_numbers, source, r->stack),
		.waker_stack =
			model_own_number(model, &model->stack_numbers, source, r->waker_stack),
		.syscall = r->syscall,
		.vector = r->vector,
		.host = source->host,
		.object_kind = r->object_kind,
		.context = r->context,
		.flags = r->flags,
		.futex_op = r->futex_op,
		.futex_value = r->futex_value,
		.memory = r->memory,
	};
	model_note_wait(model, id, cause, woken);
}

static void add_wait(struct model *model, const struct source *source, const struct record_wait *r)
{
	nsec_t now = source_time(source, r->head.time);
	nsec_t woken = r->woken < r->head.time ? source_time(source, r->woken) : now;
	thread_id waker =
		r->waker ? model_thread_of(model, source, r->waker, woken) : (thread_id){ 0 };
	thread_id id = model_thread_of(model, source, r->head.tid, source_time(source, r->start));
	struct thread *thread = thread_at(model, id);

	come_into_scope(thread, source_time(source, r->start));
	add_blocked(model, source, r, waker, id, woken);
	add_interval(
		thread,
		(struct interval){
			.start = woken, .cpu = r->head.cpu, .state = r->ready, .flags = r->flags },
		now);
}

/*
 * Whether a TASK record belongs to a new thread.  If the thread of a tid has exited, or
 * begins again, the tid belongs to another thread, unless another capture contains the begin of
 * the same thread.
 */
static bool is_new_thread(const struct thread *known, const struct source *source, uint8_t event)
{
	if (known->exited)
		return true;
	if (known->out_of_scope)
		return event == TASK_NEW;
	return (event == TASK_NEW || event == TASK_EXISTING) && known->input == source->input;
}

static void add_task(struct model *model, const struct source *source, const struct record_task *r)
{
	nsec_t now = source_time(source, r->head.time);
	const uint64_t *known = map_find(&model->tids, tid_key(source->host, r->head.tid));
	bool is_new =
		!known || is_new_thread(thread_at(model, (thread_id){ *known }), source, r->event);
	thread_id id =
		is_new ? model_add_thread(model, source, r->head.tid, now) : (thread_id){ *known };
	struct thread *thread = thread_at(model, id);
	bool is_alive = r->event == TASK_EXISTING || r->event == TASK_AGAIN;

	if (is_new) {
		thread->out_of_scope = r->event == TASK_OUT_OF_SCOPE;
	} else if (is_alive && (thread->out_of_scope || r->event == TASK_AGAIN)) {
		thread->input = source->input;
		come_into_scope(thread, now);
	}
	if (thread->input == source->input)
		thread->epoch = model_described(model, source).epoch;
	thread->pid = r->pid;
	thread->kernel = r->flags & TASK_KERNEL;
	thread->comm = model_add_string(model, source, r->comm);
	thread->policy = r->policy;
	thread->priority = r->priority;
	if (r->event == TASK_NEW && r->parent) {
		thread_id parent = model_thread_of(model, source, r->parent, now);

		thread_at(model, id)->parent = parent; /* the vector may have moved */
	}
}

static void add_exit(struct model *model, const struct source *source, const struct record *r)
{
	const uint64_t *known = map_find(&model->tids, tid_key(source->host, r->tid));
	nsec_t now = source_time(source, r->time);

	if (!known)
		return;

	struct thread *thread = thread_at(model, (thread_id){ *known });

	thread->exited = true;
	/* in a trace without states, only the exit shows how long the thread lived */
	if (!timeline_last(&thread->intervals) && thread->end < now)
		thread->end = now;
}

static void add_syscall(struct model *model, const struct source *source,
			const struct record_syscall *r)
{
	nsec_t end = source_time(source, r->head.time);
	thread_id id = model_thread_of(model, source, r->head.tid, end);

	*(struct syscall *)timeline_push(model_thread_timeline(
		thread_at(model, id), TIMELINE_SYSCALLS, sizeof(struct syscall))) =
		(struct syscall){ end, source_time(source, r->start), r->result, r->nr };
}

static void add_block_io(struct model *model, const struct source *source,
			 const struct record_block *r)
{
	nsec_t end = source_time(source, r->head.time);
	struct block_io block_io = {
		.end = end,
		.start = source_time(source, r->start),
		.sector = r->sector,
		.bytes = r->bytes,
		.device = r->device,
		.issuer = model_thread_of(model, source, r->head.tid, end),
		.error = r->error,
		.op = r->op,
	};
	struct timeline *queue =
		indexed(&model->queues, &model->queue_index, host_key(source->host, r->device));
	struct timeline *own = model_thread_timeline(thread_at(model, block_io.issuer),
						     TIMELINE_BLOCK_IO, sizeof(struct block_io));

	if (!queue->item_size)
		timeline_init(queue, sizeof(struct block_io));
	*(struct block_io *)timeline_push(queue) = block_io;
	*(struct block_io *)timeline_push(own) = block_io;
}

static void add_probe_event(struct model *model, const struct source *source,
			    const struct record_probe_event *r)
{
	nsec_t now = source_time(source, r->head.time);
	thread_id id = model_thread_of(model, source, r->head.tid, now);

	*(struct probe_event *)timeline_push(model_thread_timeline(
		thread_at(model, id), TIMELINE_PROBE_EVENTS, sizeof(struct probe_event))) =
		(struct probe_event){ now, model_own_number(model, &model->probe_numbers, source,
							    r->type) };
}

static void add_sample(struct model *model, const struct source *source,
		       const struct record_sample *r)
{
	nsec_t now = source_time(source, r->head.time);
	thread_id id = model_thread_of(model, source, r->head.tid, now);

	*(struct sample *)timeline_push(model_thread_timeline(
		thread_at(model, id), TIMELINE_SAMPLES, sizeof(struct sample))) =
		(struct sample){ now,
				 model_own_number(model, &model->stack_numbers, source, r->stack) };
}

static void add_loss(struct model *model, const struct source *source, const struct record_loss *r)
{
	model->has_new_losses = true;
	*vec_push(&model->losses) = (struct loss){ .start = source_time(source, r->start),
						   .end = source_time(source, r->end),
						   .count = r->count,
						   .tid = r->head.tid,
						   .host = source->host,
						   .cpu = r->head.cpu };
}

/* Adds a record of what a thread did; false if it is of another sort. */
static bool add_event(struct model *model, const struct source *source, const struct record *r)
{
	switch (r->kind) {
	case RECORD_RUN:
		add_run(model, source, (const void *)r);
		return true;
	case RECORD_WAIT:
		add_wait(model, source, (const void *)r);
		return true;
	case RECORD_TASK:
		add_task(model, source, (const void *)r);
		return true;
	case RECORD_EXIT:
		add_exit(model, source, r);
		return true;
	case RECORD_MESSAGE:
		model_add_message(model, source, (const void *)r);
		return true;
	case RECORD_TRANSMIT:
		model_add_transmit(model, source, (const void *)r);
		return true;
	case RECORD_UNREAD:
		model_add_unread(model, source, (const void *)r);
		return true;
	case RECORD_SYSCALL:
		add_syscall(model, source, (const void *)r);
		return true;
	case RECORD_BLOCK:
		add_block_io(model, source, (const void *)r);
		return true;
	case RECORD_PROBE_EVENT:
		add_probe_event(model, source, (const void *)r);
		return true;
	case RECORD_SAMPLE:
		add_sample(model, source, (const void *)r);
		return true;
	case RECORD_SOCKET_STATE:
		model_add_socket_state(model, source, (const void *)r);
		return true;
	case RECORD_SPAN:
		model_add_span(model, source, (const void *)r);
		return true;
	case RECORD_CONTEXT:
		model_add_context(model, source, (const void *)r);
		return true;
	default:
		return false;
	}
}

void model_set_begin(struct model *model, nsec_t begin)
{
	model->begin = begin;
	model->has_begin = model->begin_is_set = true;
}

void model_begin_at(struct model *model, nsec_t t)
{
	if (!model->has_begin)
		model->begin = t;
	model->has_begin = true;
}

void model_add(struct model *model, const struct source *source, const struct record *record)
{
	nsec_t now = source_time(source, record->time);

	model->records++;
	if (!add_event(model, source, record)) {
		if (record->kind == RECORD_LOSS)
			add_loss(model, source, (const void *)record);
		else
			model_add_description(model, source, record);
		return;
	}
	model_begin_at(model, now);
	if (now > model->end)
		model->end = now;
}
