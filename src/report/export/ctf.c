/* SPDX-License-Identifier: Apache-2.0 */
#include "report/export/ctf.h"

#include <string.h>

#include "event/times.h"
#include "report/export/ctf_internal.h"
#include "report/time_shift.h"

/* What sched_switch says of a thread that leaves a CPU. */
enum { STATE_RUNS = 0, STATE_SLEEPS = 1, STATE_SLEEPS_DEEPLY = 2, STATE_IS_DEAD = 16 };

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
	vec_done(&x->kept);
	map_done(&x->seen);
	map_done(&x->ins);
	map_done(&x->outs);
	map_done(&x->sockets);
	vec_done(&x->addresses);
	map_done(&x->comms);
	free(x);
}

static struct item *add(struct ctf_export *x, enum item_kind kind, nsec_t time,
			const struct record *head)
{
	struct item *item = vec_push(&x->items);

	*item = (struct item){ .time = time, .tid = head->tid, .cpu = head->cpu, .kind = kind };
	return item;
}

static uint32_t keep(struct ctf_export *x, const void *what, size_t size)
{
	size_t place = x->kept.count, words = (size + 7) / 8;

	for (size_t i = 0; i < words; i++)
		*vec_push(&x->kept) = 0;
	memcpy(x->kept.items + place, what, size);
	return place;
}

static uint32_t keep_string(struct ctf_export *x, const struct source *source, uint32_t id)
{
	return strtab_add(x->strings, source_string(source, id)).i;
}

static void cut_off(struct ctf_export *x, nsec_t end)
{
	x->has_end = true;
	if (end > x->end)
		x->end = end;
}

/* A thread is there from the first interval on that is known of it, not only when it is named. */
static void begin_life(struct ctf_export *x, uint32_t tid, nsec_t start)
{
	uint64_t *place = map_find(&x->seen, tid);

	if (!place || !*place)
		return;
	if (start < x->items.items[*place - 1].time)
		x->items.items[*place - 1].time = start;
	*place = 0;
}

/* Both the end of a wait and the begin of a turn tell of it; of some turns no end is known. */
static void add_in(struct ctf_export *x, const struct record *head, nsec_t time)
{
	uint64_t *last = map_insert(&x->ins, head->tid);

	if (*last == time && time)
		return;
	*last = time;
	add(x, ITEM_IN, time, head);
}

/* In which state it leaves, its next record will tell: what is not in scope has none. */
static void add_run(struct ctf_export *x, const struct record_run *r)
{
	begin_life(x, r->head.tid, r->start);
	if (r->start >= r->head.time)
		return;
	add_in(x, &r->head, r->start);
	if (r->flags & INTERVAL_OPEN) {
		cut_off(x, r->head.time);
		return;
	}
	add(x, ITEM_OUT, r->head.time, &r->head)->state = STATE_SLEEPS;
	*map_insert(&x->outs, r->head.tid) = x->items.count;
}

static void set_state(struct ctf_export *x, uint32_t tid, nsec_t time, uint8_t state)
{
	const uint64_t *place = map_find(&x->outs, tid);

	if (place && x->items.items[*place - 1].time == time)
		x->items.items[*place - 1].state = state;
}

static void add_wait(struct ctf_export *x, const struct record_wait *r)
{
	struct kept_wait wait = { r->object, r->syscall, r->object_kind, r->flags,
				  r->state,  r->ready,   { 0 } };
	bool blocked = !(r->flags & INTERVAL_PREEMPTED);

	begin_life(x, r->head.tid, r->start);
	if (blocked || r->ready == STATE_THROTTLED) {
		uint32_t ref = keep(x, &wait, sizeof(wait));

		add(x, ITEM_WAIT, r->start, &r->head)->ref = ref;
	}
	set_state(x, r->head.tid, r->start,
		  !blocked                              ? STATE_RUNS
		  : r->flags & INTERVAL_UNINTERRUPTIBLE ? STATE_SLEEPS_DEEPLY
							: STATE_SLEEPS);
	if (r->context != WAKE_NONE) {
		struct item *wake = add(x, ITEM_WAKE, r->woken, &r->head);

		wake->other = r->waker;
		wake->ref = r->vector;
		wake->state = r->context;
	}
	if (r->flags & INTERVAL_OPEN)
		cut_off(x, r->head.time);
	else
		add_in(x, &r->head, r->head.time);
}

static void add_task(struct ctf_export *x, const struct source *source, const struct record_task *r)
{
	struct record_task task = *r;
	uint64_t *first = map_insert(&x->comms, r->head.tid);

	task.comm = keep_string(x, source, r->comm);
	if (!*first)
		*first = task.comm + 1;

	uint32_t ref = keep(x, &task, sizeof(task));

	add(x, ITEM_TASK, r->head.time, &r->head)->ref = ref;
	*map_insert(&x->seen, r->head.tid) = r->event == TASK_EXISTING ? x->items.count : 0;
}

static void add_exit(struct ctf_export *x, const struct record_exit *r)
{
	set_state(x, r->head.tid, r->head.time, STATE_IS_DEAD);
	add(x, ITEM_EXIT, r->head.time, &r->head);
}

static void add_socket(struct ctf_export *x, const struct record_socket *r)
{
	uint64_t *place = map_insert(&x->sockets, r->object);

	if (!*place) {
		vec_push(&x->addresses);
		*place = x->addresses.count;
	}
	x->addresses.items[*place - 1] = r->address;
}

static void add_message(struct ctf_export *x, const struct record_message *r)
{
	const uint64_t *place = map_find(&x->sockets, r->object);
	struct kept_message message = { .message = *r };

	if (place)
		message.address = x->addresses.items[*place - 1];

	uint32_t ref = keep(x, &message, sizeof(message));

	add(x, ITEM_MESSAGE, r->head.time, &r->head)->ref = ref;
}

/* What has a begin and an end, of which each is an event. */
static void add_both(struct ctf_export *x, const struct record *r, size_t size, bool is_open,
		     enum item_kind begin, enum item_kind end)
{
	uint32_t ref = keep(x, r, size);

	add(x, begin, record_start(r), r)->ref = ref;
	if (is_open) {
		cut_off(x, r->time);
		return;
	}

	struct item *item = add(x, end, r->time, r);

	item->ref = ref;
	item->state = 1;
}

static void add_call(struct ctf_export *x, const struct record_syscall *r)
{
	add_both(x, &r->head, sizeof(*r), r->flags & SYSCALL_OPEN, ITEM_CALL, ITEM_CALL);
}

static void add_span(struct ctf_export *x, const struct source *source, const struct record_span *r)
{
	struct record_span span = *r;

	span.service = keep_string(x, source, r->service);
	span.operation = keep_string(x, source, r->operation);
	add_both(x, &span.head, sizeof(span), false, ITEM_SPAN_BEGIN, ITEM_SPAN_END);
}

static void add_loss(struct ctf_export *x, const struct record_loss *r)
{
	uint32_t ref = keep(x, r, offsetof(struct record_loss, packets));

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
		return add_call(x, r);
	case RECORD_BLOCK:
		return add_both(x, record, sizeof(struct record_block), false, ITEM_BLOCK,
				ITEM_BLOCK);
	case RECORD_SPAN:
		return add_span(x, source, r);
	case RECORD_LOSS:
		return add_loss(x, r);
	case RECORD_PROBE_EVENT:
	case RECORD_SAMPLE:
	case RECORD_STACK:
	case RECORD_CONTEXT:
	case RECORD_ATTRIBUTE:
		x->left_out++;
		return;
	default:
		return; /* names of things that no event speaks of */
	}
}

uint64_t ctf_export_left_out(const struct ctf_export *x)
{
	return x->left_out;
}

int ctf_export_write(struct ctf_export *x, const struct lttng_about *about, const char *directory,
		     struct err *err)
{
	struct lttng_about seeded = *about;

	if (x->has_end)
		add(x, ITEM_END, x->end, &(struct record){ .cpu = x->items.items[0].cpu });
	item_sort(x->items.items, x->items.count);
	seeded.seed = x->items.count;
	if (x->items.count)
		seeded.seed ^=
			x->items.items[0].time << 24 ^ x->items.items[x->items.count - 1].time;

	_cleanup_(lttng_trace_freep) struct lttng_trace *trace =
		lttng_trace_new(directory, &seeded);

	ctf_export_play(x, trace);
	return lttng_trace_finish(trace, err);
}
