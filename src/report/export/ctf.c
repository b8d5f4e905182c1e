/* SPDX-License-Identifier: Apache-2.0 */
#include "report/export/ctf.h"

#include <string.h>

#include "event/times.h"
#include "report/export/internal.h"
#include "report/time_shift.h"

/* prev_state of sched_switch. */
enum { STATE_RUNNABLE = 0, STATE_INTERRUPTIBLE = 1, STATE_UNINTERRUPTIBLE = 2, STATE_DEAD = 16 };

struct ctf_export *ctf_export_new(void)
{
	struct ctf_export *x = must_alloc(sizeof(*x));

	x->strings = strtab_new();
	return x;
}

void ctf_export_free(struct ctf_export *x)
{
	if (!x)
		return;
	strtab_free(x->strings);
	vec_done(&x->items);
	vec_done(&x->saved);
	map_done(&x->first_tasks);
	map_done(&x->ins);
	map_done(&x->outs);
	map_done(&x->sockets);
	vec_done(&x->addresses);
	map_done(&x->comms);
	free(x);
}

static struct export_item *add(struct ctf_export *x, enum export_item_kind kind, nsec_t time,
			       const struct record *head)
{
	struct export_item *item = vec_push(&x->items);

	*item = (struct export_item){
		.time = time, .tid = head->tid, .cpu = head->cpu, .kind = kind
	};
	return item;
}

static uint32_t save(struct ctf_export *x, const void *data, size_t size)
{
	size_t index = x->saved.count, words = (size + 7) / 8;

	for (size_t i = 0; i < words; i++)
		*vec_push(&x->saved) = 0;
	memcpy(x->saved.items + index, data, size);
	return index;
}

static uint32_t save_string(struct ctf_export *x, const struct source *source, uint32_t id)
{
	return strtab_add(x->strings, source_string(source, id)).i;
}

static void set_end(struct ctf_export *x, nsec_t end)
{
	x->has_end = true;
	if (end > x->end)
		x->end = end;
}

/* A thread exists from its first interval on, which can be before its first TASK record. */
static void extend_thread(struct ctf_export *x, uint32_t tid, nsec_t start)
{
	uint64_t *index = map_find(&x->first_tasks, tid);

	if (!index || !*index)
		return;
	if (start < x->items.items[*index - 1].time)
		x->items.items[*index - 1].time = start;
	*index = 0;
}

/* Both the end of a wait and the start of a slice imply a switch-in; add it once. */
static void add_in(struct ctf_export *x, const struct record *head, nsec_t time)
{
	uint64_t *last = map_insert(&x->ins, head->tid);

	if (*last == time && time)
		return;
	*last = time;
	add(x, ITEM_IN, time, head);
}

/* The next record of the thread sets prev_state; an out-of-scope thread has none. */
static void add_run(struct ctf_export *x, const struct record_run *r)
{
	extend_thread(x, r->head.tid, r->start);
	if (r->start >= r->head.time)
		return;
	add_in(x, &r->head, r->start);
	if (r->flags & INTERVAL_OPEN) {
		set_end(x, r->head.time);
		return;
	}
	add(x, ITEM_OUT, r->head.time, &r->head)->state = STATE_INTERRUPTIBLE;
	*map_insert(&x->outs, r->head.tid) = x->items.count;
}

static void set_state(struct ctf_export *x, uint32_t tid, nsec_t time, uint8_t state)
{
	const uint64_t *index = map_find(&x->outs, tid);

	if (index && x->items.items[*index - 1].time == time)
		x->items.items[*index - 1].state = state;
}

static void add_wait(struct ctf_export *x, const struct record_wait *r)
{
	struct saved_wait wait = { r->object, r->syscall, r->object_kind, r->flags,
				   r->state,  r->ready,   { 0 } };
	bool blocked = !(r->flags & INTERVAL_PREEMPTED);

	extend_thread(x, r->head.tid, r->start);
	if (blocked || r->ready == STATE_THROTTLED) {
		uint32_t ref = save(x, &wait, sizeof(wait));

		add(x, ITEM_WAIT, r->start, &r->head)->ref = ref;
	}
	set_state(x, r->head.tid, r->start,
		  !blocked                              ? STATE_RUNNABLE
		  : r->flags & INTERVAL_UNINTERRUPTIBLE ? STATE_UNINTERRUPTIBLE
							: STATE_INTERRUPTIBLE);
	if (r->context != WAKE_NONE) {
		struct export_item *wake = add(x, ITEM_WAKE, r->woken, &r->head);

		wake->other = r->waker;
		wake->ref = r->vector;
		wake->state = r->context;
	}
	if (r->flags & INTERVAL_OPEN)
		set_end(x, r->head.time);
	else
		add_in(x, &r->head, r->head.time);
}

static void add_task(struct ctf_export *x, const struct source *source, const struct record_task *r)
{
	struct record_task task = *r;
	uint64_t *first = map_insert(&x->comms, r->head.tid);

	task.comm = save_string(x, source, r->comm);
	if (!*first)
		*first = task.comm + 1;

	uint32_t ref = save(x, &task, sizeof(task));

	add(x, ITEM_TASK, r->head.time, &r->head)->ref = ref;
	*map_insert(&x->first_tasks, r->head.tid) = r->event == TASK_EXISTING ? x->items.count : 0;
}

static void add_exit(struct ctf_export *x, const struct record_exit *r)
{
	set_state(x, r->head.tid, r->head.time, STATE_DEAD);
	add(x, ITEM_EXIT, r->head.time, &r->head);
}

static void add_socket(struct ctf_export *x, const struct record_socket *r)
{
	uint64_t *index = map_insert(&x->sockets, r->object);

	if (!*index) {
		vec_push(&x->addresses);
		*index = x->addresses.count;
	}
	x->addresses.items[*index - 1] = r->address;
}

static void add_message(struct ctf_export *x, const struct record_message *r)
{
	const uint64_t *index = map_find(&x->sockets, r->object);
	struct saved_message message = { .message = *r };

	if (index)
		message.address = x->addresses.items[*index - 1];

	uint32_t ref = save(x, &message, sizeof(message));

	add(x, ITEM_MESSAGE, r->head.time, &r->head)->ref = ref;
}

/* A record with two events, at its start and end. */
static void add_range(struct ctf_export *x, const struct record *r, size_t size, bool is_unfinished,
		      enum export_item_kind begin, enum export_item_kind end)
{
	uint32_t ref = save(x, r, size);

	add(x, begin, record_start(r), r)->ref = ref;
	if (is_unfinished) {
		set_end(x, r->time);
		return;
	}

	struct export_item *item = add(x, end, r->time, r);

	item->ref = ref;
	item->state = 1;
}

static void add_syscall(struct ctf_export *x, const struct record_syscall *r)
{
	add_range(x, &r->head, sizeof(*r), r->flags & SYSCALL_OPEN, ITEM_SYSCALL, ITEM_SYSCALL);
}

static void add_span(struct ctf_export *x, const struct source *source, const struct record_span *r)
{
	struct record_span span = *r;

	span.service = save_string(x, source, r->service);
	span.operation = save_string(x, source, r->operation);
	add_range(x, &span.head, sizeof(span), false, ITEM_SPAN_BEGIN, ITEM_SPAN_END);
}

static void add_loss(struct ctf_export *x, const struct record_loss *r)
{
	uint32_t ref = save(x, r, offsetof(struct record_loss, packets));

	if (r->end < r->start)
		return;
	add(x, ITEM_LOSS_BEGIN, r->start, &r->head);
	add(x, ITEM_LOSS_END, r->end, &r->head)->ref = ref;
}

void ctf_export_add(struct ctf_export *x, const struct source *source, const struct record *record)
{
	struct shifted_record room;
	const void *r = record = time_shift(source, record, &room);

	switch ((enum record_kind)record->kind) {
	case RECORD_RUN:
		return add_run(x, r);
	case RECORD_WAIT:
		return add_wait(x, r);
	case RECORD_TASK:
		return add_task(x, source, r);
	case RECORD_EXIT:
		return add_exit(x, r);
	case RECORD_MESSAGE:
		return add_message(x, r);
	case RECORD_SOCKET:
		return add_socket(x, r);
	case RECORD_SYSCALL:
		return add_syscall(x, r);
	case RECORD_BLOCK:
		return add_range(x, record, sizeof(struct record_block), false, ITEM_BLOCK_IO,
				 ITEM_BLOCK_IO);
	case RECORD_SPAN:
		return add_span(x, source, r);
	case RECORD_LOSS:
		return add_loss(x, r);
	case RECORD_PROBE_EVENT:
	case RECORD_SAMPLE:
	case RECORD_STACK:
	case RECORD_CONTEXT:
	case RECORD_ATTRIBUTE:
		x->omitted++;
		return;
	default:
		return; /* no events refer to these */
	}
}

uint64_t ctf_export_omitted(const struct ctf_export *x)
{
	return x->omitted;
}

int ctf_export_write(struct ctf_export *x, const struct lttng_origin *about, const char *directory,
		     struct err *err)
{
	struct lttng_origin seeded = *about;

	if (x->has_end)
		add(x, ITEM_END, x->end, &(struct record){ .cpu = x->items.items[0].cpu });
	export_item_sort(x->items.items, x->items.count);
	seeded.seed = x->items.count;
	if (x->items.count)
		seeded.seed ^=
			x->items.items[0].time << 24 ^ x->items.items[x->items.count - 1].time;

	_cleanup_(lttng_trace_freep) struct lttng_trace *trace =
		lttng_trace_new(directory, &seeded);

	ctf_export_write_items(x, trace);
	return lttng_trace_finish(trace, err);
}
