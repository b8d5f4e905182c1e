/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write items, in order, as events of CPUs.  A wait record contains its waker but not the
 * CPU of the waker, so the switches are followed to know the CPU of each thread.
 */
#include <stdio.h>
#include <string.h>

#include "report/export/internal.h"

enum { PRIORITY = 20 }; /* LTTng's priority of an ordinary thread */

struct ctf_writer {
	struct ctf_export *x;
	struct lttng_trace *trace;
	struct map comms;      /* tid: str_id + 1 */
	struct map pids;       /* tid: pid */
	struct map cpus;       /* tid: CPU it runs on + 1 */
	VEC(uint32_t) current; /* by CPU: tid, 0 if idle or unknown */
	VEC(struct export_item *)
	outs, last_out; /* OUTs of the current time; last OUT of each CPU */
};

#define NUMBER(value) { .n = (uint64_t)(int64_t)(value) }
#define TEXT(value) { .s = (value) }

static const char *string_of(const struct ctf_writer *p, uint32_t id)
{
	return strtab_get(p->x->strings, (str_id){ id });
}

static const char *comm_of(const struct ctf_writer *p, uint32_t tid)
{
	const uint64_t *id = map_find(&p->comms, tid);

	if (!id)
		id = map_find(&p->x->comms, tid);
	if (!tid)
		return "swapper";
	return id ? string_of(p, *id - 1) : "";
}

static uint32_t pid_of(const struct ctf_writer *p, uint32_t tid)
{
	const uint64_t *pid = map_find(&p->pids, tid);

	return pid ? *pid : tid;
}

/* The CPU that a thread runs on, or otherwise. */
static uint16_t cpu_of(const struct ctf_writer *p, uint32_t tid, uint16_t otherwise)
{
	const uint64_t *cpu = tid ? map_find(&p->cpus, tid) : NULL;

	return cpu && *cpu ? *cpu - 1 : otherwise;
}

static uint32_t *current_at(struct ctf_writer *p, uint16_t cpu)
{
	while (p->current.count <= cpu)
		*vec_push(&p->current) = 0;
	return &p->current.items[cpu];
}

static void write_switch(struct ctf_writer *p, nsec_t time, uint16_t cpu,
			 const struct export_item *out, const struct export_item *in)
{
	uint32_t prev = out ? out->tid : 0, next = in ? in->tid : 0;
	struct lttng_value values[] = {
		TEXT(comm_of(p, prev)), NUMBER(prev),
		NUMBER(PRIORITY),       NUMBER(out ? out->state : 0),
		TEXT(comm_of(p, next)), NUMBER(next),
		NUMBER(PRIORITY),
	};

	lttng_trace_event(p->trace, LTTNG_SWITCH, time, cpu, prev, values);
	*current_at(p, cpu) = next;
}

/* Write the switches to idle: OUTs of the last time that no IN followed. */
static void write_pending_outs(struct ctf_writer *p)
{
	for (size_t i = 0; i < p->outs.count; i++) {
		const struct export_item *out = p->outs.items[i];

		if (out->kind == ITEM_OUT)
			write_switch(p, out->time, out->cpu, out, NULL);
	}
	p->outs.count = 0;
}

/* Defer an OUT: an IN at the same time belongs to the same event. */
static void write_out(struct ctf_writer *p, struct export_item *out)
{
	while (p->last_out.count <= out->cpu)
		*vec_push(&p->last_out) = NULL;
	p->last_out.items[out->cpu] = out;
	*vec_push(&p->outs) = out;
	*map_insert(&p->cpus, out->tid) = 0;
}

static void write_in(struct ctf_writer *p, const struct export_item *in)
{
	struct export_item *out = in->cpu < p->last_out.count ? p->last_out.items[in->cpu] : NULL;

	if (out && out->time == in->time && out->kind == ITEM_OUT) {
		write_switch(p, in->time, in->cpu, out, in);
		out->kind = ITEM_NONE;
	} else {
		write_switch(p, in->time, in->cpu, NULL, in);
	}
	*map_insert(&p->cpus, in->tid) = in->cpu + 1;
}

/* The start or end of the interrupt of a wakeup. */
static void write_interrupt(struct ctf_writer *p, const struct export_item *wake, uint16_t cpu,
			    bool ends)
{
	struct lttng_value irq[] = { NUMBER(wake->ref), { .n = 0, .s = "" } };
	struct lttng_value timer[] = { NUMBER(0), NUMBER(wake->time), NUMBER(0) };
	unsigned id;

	switch (wake->state) {
	case WAKE_IRQ:
		id = ends ? LTTNG_IRQ_EXIT : LTTNG_IRQ_ENTRY;
		break;
	case WAKE_SOFTIRQ:
		id = ends ? LTTNG_SOFTIRQ_EXIT : LTTNG_SOFTIRQ_ENTRY;
		break;
	case WAKE_HRTIMER:
		id = ends ? LTTNG_HRTIMER_EXIT : LTTNG_HRTIMER_ENTRY;
		break;
	default:
		return;
	}
	lttng_trace_event(p->trace, id, wake->time, cpu, wake->other,
			  wake->state == WAKE_HRTIMER ? timer : irq);
}

static void write_wake(struct ctf_writer *p, const struct export_item *wake)
{
	uint16_t cpu = cpu_of(p, wake->other, wake->cpu);
	struct lttng_value values[] = { TEXT(comm_of(p, wake->tid)), NUMBER(wake->tid),
					NUMBER(PRIORITY), NUMBER(wake->cpu) };

	write_interrupt(p, wake, cpu, false);
	lttng_trace_event(p->trace, LTTNG_WAKING, wake->time, cpu, wake->other, values);
	write_interrupt(p, wake, cpu, true);
}

static void write_wait(struct ctf_writer *p, const struct export_item *item)
{
	const struct saved_wait *w = export_item_data(p->x, item);
	struct lttng_value values[] = {
		NUMBER(item->tid),      NUMBER(w->state),  NUMBER(w->ready), NUMBER(w->syscall),
		NUMBER(w->object_kind), NUMBER(w->object), NUMBER(w->flags),
	};

	lttng_trace_event(p->trace, LTTNG_WAIT, item->time, cpu_of(p, item->tid, item->cpu),
			  item->tid, values);
}

static void write_state(struct ctf_writer *p, const struct export_item *item,
			const struct record_task *r)
{
	struct lttng_value values[] = {
		NUMBER(item->tid),
		NUMBER(item->tid),
		NUMBER(r->pid),
		NUMBER(r->pid),
		NUMBER(r->parent),
		NUMBER(r->parent),
		TEXT(string_of(p, r->comm)),
		NUMBER(r->flags & TASK_KERNEL ? 1 : 0),
		NUMBER(0),
		NUMBER(0),
		NUMBER(0),
		NUMBER(0),
	};

	/* the event is about another thread than the one that runs on the CPU */
	lttng_trace_event(p->trace, LTTNG_STATE, item->time, item->cpu, *current_at(p, item->cpu),
			  values);
}

static void write_fork(struct ctf_writer *p, const struct export_item *item,
		       const struct record_task *r)
{
	struct lttng_value values[] = {
		TEXT(comm_of(p, r->parent)), NUMBER(r->parent), NUMBER(pid_of(p, r->parent)),
		TEXT(string_of(p, r->comm)), NUMBER(item->tid), NUMBER(r->pid),
	};

	lttng_trace_event(p->trace, LTTNG_FORK, item->time, cpu_of(p, r->parent, item->cpu),
			  r->parent, values);
}

static void write_task(struct ctf_writer *p, const struct export_item *item)
{
	const struct record_task *r = export_item_data(p->x, item);
	const char *comm = string_of(p, r->comm);
	struct lttng_value exec[] = { TEXT(comm), NUMBER(item->tid), NUMBER(item->tid) };
	struct lttng_value renamed[] = { NUMBER(item->tid), TEXT(comm_of(p, item->tid)),
					 TEXT(comm) };
	uint16_t cpu = cpu_of(p, item->tid, item->cpu);

	switch (r->event) {
	case TASK_NEW:
		write_fork(p, item, r);
		break;
	case TASK_EXEC:
		lttng_trace_event(p->trace, LTTNG_EXEC, item->time, cpu, item->tid, exec);
		break;
	case TASK_RENAMED:
		lttng_trace_event(p->trace, LTTNG_RENAME, item->time, cpu, item->tid, renamed);
		break;
	case TASK_PRIORITY:
		break;
	default:
		write_state(p, item, r);
		break;
	}
	*map_insert(&p->comms, item->tid) = r->comm + 1;
	*map_insert(&p->pids, item->tid) = r->pid;
}

static void write_exit(struct ctf_writer *p, const struct export_item *item)
{
	struct lttng_value values[] = { TEXT(comm_of(p, item->tid)), NUMBER(item->tid),
					NUMBER(PRIORITY) };

	lttng_trace_event(p->trace, LTTNG_EXIT, item->time, cpu_of(p, item->tid, item->cpu),
			  item->tid, values);
}

static void write_syscall(struct ctf_writer *p, const struct export_item *item)
{
	const struct record_syscall *r = export_item_data(p->x, item);
	bool ends = item->state;
	unsigned id = lttng_syscall_id(r->nr, ends);
	struct lttng_value entry[] = { NUMBER(r->args[0]), NUMBER(r->args[1]), NUMBER(r->args[2]) };
	struct lttng_value unknown[] = { NUMBER(r->nr), TEXT(r->args) };
	struct lttng_value leave[] = { NUMBER(r->nr), NUMBER(r->result) };
	bool named = id >= LTTNG_EVENTS; /* its name identifies the system call */

	lttng_trace_event(p->trace, id, item->time, cpu_of(p, item->tid, item->cpu), item->tid,
			  ends    ? leave + named
			  : named ? entry
				  : unknown);
}

/* LTTng's encoding: a bit for each letter. */
static uint32_t op_bits(uint8_t op)
{
	return op == 'W' ? 1 : op == 'D' ? 2 : op == 'R' ? 4 : op == 'F' ? 256 : 0;
}

static void write_block_io(struct ctf_writer *p, const struct export_item *item)
{
	const struct record_block *r = export_item_data(p->x, item);
	bool ends = item->state;
	struct lttng_value issue[] = {
		NUMBER(r->device),           NUMBER(r->sector),
		NUMBER(r->bytes / 512),      NUMBER(r->bytes),
		NUMBER(item->tid),           NUMBER(op_bits(r->op)),
		TEXT(comm_of(p, item->tid)),
	};
	struct lttng_value complete[] = { NUMBER(r->device), NUMBER(r->sector),
					  NUMBER(r->bytes / 512), NUMBER(r->error),
					  NUMBER(op_bits(r->op)) };

	if (ends)
		lttng_trace_event(p->trace, LTTNG_BLOCK_COMPLETE, item->time, item->cpu,
				  *current_at(p, item->cpu), complete);
	else
		lttng_trace_event(p->trace, LTTNG_BLOCK_ISSUE, item->time,
				  cpu_of(p, item->tid, item->cpu), item->tid, issue);
}

static void write_message(struct ctf_writer *p, const struct export_item *item)
{
	const struct saved_message *m = export_item_data(p->x, item);
	const struct socket_address *a = &m->address;
	struct lttng_value values[] = {
		NUMBER(m->message.direction), NUMBER(m->message.bytes),
		NUMBER(m->message.position),  NUMBER(m->message.object_kind),
		NUMBER(m->message.object),    NUMBER(a->family),
		NUMBER(a->protocol),          TEXT(a->local),
		NUMBER(a->local_port),        TEXT(a->peer),
		NUMBER(a->peer_port),
	};

	lttng_trace_event(p->trace, LTTNG_MESSAGE, item->time, cpu_of(p, item->tid, item->cpu),
			  item->tid, values);
}

static void write_hex(char *to, const uint8_t *id, size_t size)
{
	for (size_t i = 0; i < size; i++)
		snprintf(to + 2 * i, 3, "%02x", id[i]);
}

static void write_span(struct ctf_writer *p, const struct export_item *item)
{
	const struct record_span *r = export_item_data(p->x, item);
	char trace[33], span[17], parent[17];
	struct lttng_value begin[] = { TEXT(trace), TEXT(span), TEXT(parent) };
	struct lttng_value end[] = { TEXT(trace), TEXT(span), TEXT(string_of(p, r->service)),
				     TEXT(string_of(p, r->operation)),
				     NUMBER(r->flags & SPAN_ERROR ? 1 : 0) };
	bool ends = item->kind == ITEM_SPAN_END;

	write_hex(trace, r->trace, sizeof(r->trace));
	write_hex(span, r->span, sizeof(r->span));
	write_hex(parent, r->parent, sizeof(r->parent));
	lttng_trace_event(p->trace, ends ? LTTNG_SPAN_END : LTTNG_SPAN_BEGIN, item->time,
			  cpu_of(p, item->tid, item->cpu), item->tid, ends ? end : begin);
}

static void write_item(struct ctf_writer *p, struct export_item *item)
{
	switch ((enum export_item_kind)item->kind) {
	case ITEM_LOSS_BEGIN:
		return lttng_trace_loss_begins(p->trace, item->cpu, item->time);
	case ITEM_LOSS_END:
		return lttng_trace_loss_ends(
			p->trace, item->cpu, item->time,
			((const struct record_loss *)export_item_data(p->x, item))->count);
	case ITEM_TASK:
		return write_task(p, item);
	case ITEM_SPAN_BEGIN:
	case ITEM_SPAN_END:
		return write_span(p, item);
	case ITEM_SYSCALL:
		return write_syscall(p, item);
	case ITEM_BLOCK_IO:
		return write_block_io(p, item);
	case ITEM_MESSAGE:
		return write_message(p, item);
	case ITEM_WAKE:
		return write_wake(p, item);
	case ITEM_WAIT:
		return write_wait(p, item);
	case ITEM_EXIT:
		return write_exit(p, item);
	case ITEM_OUT:
		return write_out(p, item);
	case ITEM_IN:
		return write_in(p, item);
	case ITEM_END:
		return lttng_trace_event(p->trace, LTTNG_LAST, item->time, item->cpu,
					 *current_at(p, item->cpu), NULL);
	case ITEM_NONE:
		return;
	}
}

void ctf_export_write_items(struct ctf_export *x, struct lttng_trace *trace)
{
	struct ctf_writer p = { .x = x, .trace = trace };

	for (size_t i = 0; i < x->items.count; i++) {
		if (i && x->items.items[i].time != x->items.items[i - 1].time)
			write_pending_outs(&p);
		write_item(&p, &x->items.items[i]);
	}
	write_pending_outs(&p);
	map_done(&p.comms);
	map_done(&p.pids);
	map_done(&p.cpus);
	vec_done(&p.current);
	vec_done(&p.outs);
	vec_done(&p.last_out);
}
