/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "analyse/lock_kind.h"
#include "analyse/lost.h"
#include "event/socket_name.h"
#include "event/syscall.h"
#include "report/explain.h"
#include "report/json_put.h"
#include "event/kind.h"
#include "report/lost.h"
#include "report/phrase.h"

static void put_thread(struct json *j, const struct model *model, thread_id id)
{
	const struct thread *thread = model_thread(model, id);

	put_u64(j, "tid", thread->tid);
	put_u64(j, "pid", thread->pid);
	put_string(j, "comm", model_string(model, thread->comm));
	put_string(j, "process", model_string(model, model_process_name(model, id)));
}

/* The original times of a span whose clock was corrected. */
static void put_shift(struct json *j, const struct span *span)
{
	if (!span->shift)
		return;
	json_key(j, "clock_shift");
	json_i64(j, span->shift);
	put_u64(j, "original_start", span->start - span->shift);
	put_u64(j, "original_end", span->end - span->shift);
}

/* The names of a span that was not recorded are empty. */
static void put_span_ids(struct json *j, const struct span_set *spans, const char *key,
			 const uint8_t trace[16], const uint8_t id[8], span_id named)
{
	const struct span *span = span_set_at(spans, named);

	json_key(j, key);
	json_object(j);
	put_hex(j, "trace_id", trace, 16);
	put_hex(j, "span_id", id, 8);
	put_string(j, "service", span_set_string(spans, span->service));
	put_string(j, "operation", span_set_string(spans, span->operation));
	put_shift(j, span);
	json_end(j);
}

static void put_span(struct json *j, const struct span_set *spans, span_id id)
{
	const struct span *span = span_set_at(spans, id);

	put_span_ids(j, spans, "span", span->trace, span->id, id);
}

/* The span that a thread works for instead: recorded, with a number, or inferred. */
static void put_other_span(struct json *j, const struct span_set *spans, uint32_t number,
			   span_id inferred)
{
	const struct span_ref *ref = model_span_ref(spans->model, number);
	const struct span *span = span_set_at(spans, inferred);

	if (number)
		put_span_ids(j, spans, "other_span", ref->trace, ref->id, ref->span);
	else if (inferred.i)
		put_span_ids(j, spans, "other_span", span->trace, span->id, inferred);
}

static void put_object(struct json *j, const struct model *model, const struct cause *cause)
{
	const struct socket *socket = model_socket(model, cause->host, cause->object);
	const char *file = model_file(model, cause->host, cause->object);

	if (cause->object_kind == OBJECT_NONE)
		return;
	put_string(j, "object_type", object_kind_name(cause->object_kind));
	put_u64(j, "object_id", cause->object);
	if (file && (cause->object_kind == OBJECT_FILE || cause->object_kind == OBJECT_DIRECTORY)) {
		const char *device = model_device(
			model, cause->host, model_file_device(model, cause->host, cause->object));

		put_string(j, "object_name", file);
		if (device)
			put_string(j, "device", device);
	}
	if (socket && cause->object_kind == OBJECT_INET) {
		struct socket_name name;

		socket_name_init(&name, &socket->address);
		put_string(j, "local", name.local);
		put_string(j, "peer", name.peer);
	}
}

static void put_stack(struct json *j, const struct model *model, const char *key, uint32_t number)
{
	struct stack stack = model_stack(model, number);

	if (!stack.count)
		return;
	json_key(j, key);
	json_array(j);
	for (size_t i = 0; i < stack.count; i++) {
		struct frame frame = model_frame(model, stack.frames[i]);

		json_string(j, model_string(model, frame.symbol.i ? frame.symbol : frame.module));
	}
	json_end(j);
}

static void put_cause(struct json *j, const struct model *model, const struct cause *cause)
{
	const char *name = syscall_name(cause->syscall);

	if (name)
		put_string(j, "syscall", name);
	put_object(j, model, cause);
	put_string(j, "woken_by", wake_context_name(cause->context));
	if (cause->waker.i) {
		json_key(j, "waker");
		json_object(j);
		put_thread(j, model, cause->waker);
		json_end(j);
	}
	put_stack(j, model, "stack", cause->stack);
	put_stack(j, model, "waker_stack", cause->waker_stack);
}

/* What a thread waited for that another thread holds or produces. */
static void put_lock(struct json *j, const struct model *model, thread_id thread, uint8_t state,
		     const struct cause *cause)
{
	const char *name = lock_kind_name(lock_kind_of(model, thread, state, cause));

	if (name)
		put_string(j, "lock", name);
}

/* The thread that ended a wait. */
static void put_ender(struct json *j, const struct model *model, thread_id ender)
{
	if (!ender.i)
		return;
	json_key(j, "waited_for");
	json_object(j);
	put_thread(j, model, ender);
	json_end(j);
}

static void put_state(struct json *j, uint8_t state)
{
	char letter[2] = { state, '\0' };

	put_string(j, "state", letter);
}

static void put_shares(struct json *j, const struct model *model, const struct account *account,
		       const struct node *node)
{
	json_key(j, node->state == STATE_RUNNING ? "functions" : "shared_with");
	json_array(j);
	for (uint32_t i = 0; i < node->share_count; i++) {
		const struct share *share = &account->shares.items[node->shares + i];

		json_object(j);
		put_string(j, "name", model_string(model, share->name));
		if (share->pid)
			put_u64(j, "pid", share->pid);
		if (share->thread.i)
			put_u64(j, "tid", model_thread(model, share->thread)->tid);
		put_u64(j, "duration", share->time);
		json_end(j);
	}
	json_end(j);
}

static void put_flags(struct json *j, uint16_t flags)
{
	if (flags & STEP_TRANSIT)
		put_bool(j, "in_transit", true);
	if (flags & STEP_QUEUEING)
		put_bool(j, "queueing", true);
	if (flags & STEP_SENDING)
		put_bool(j, "in_send_buffer", true);
}

static void put_node(struct json *j, const struct span_set *spans, const struct account *account,
		     const struct node *node)
{
	const struct model *model = spans->model;

	put_u64(j, "duration", node->time);
	put_u64(j, "count", node->count);
	put_string(j, "text", phrase_node(spans, account, node).s);
	if (node->span.i)
		put_span(j, spans, node->span);
	put_other_span(j, spans, node->other, node->longest.other_span);
	if (node->others)
		put_u64(j, "other_requests", node->others);
	put_flags(j, node->flags);
	if (!node->state)
		return;
	put_state(j, node->state);
	if (node->thread.i)
		put_thread(j, model, node->thread);
	if (node->state == STATE_RUNNING)
		put_u64(j, "irq_time", node->irq);
	if (node->state == STATE_READY)
		put_u64(j, "cpu", node->longest.cpu);
	put_u64(j, "longest_start", node->longest.start);
	put_u64(j, "longest_end", node->longest.end);
	if (node->cause)
		put_cause(j, model, node->cause);
	put_lock(j, model, node->longest.thread, node->state, node->cause);
	put_ender(j, model, node->holder.i ? node->holder : node->longest.ender);
	if (node->share_count)
		put_shares(j, model, account, node);
}

/*
 * Nodes are a flat list with the IDs of their parents, because a chain of waits can be
 * deeper than JSON may nest.
 */
static void put_nodes(struct json *j, const struct span_set *spans, const struct account *account)
{
	json_key(j, "nodes");
	json_array(j);
	for (uint32_t i = 1; i < account->nodes.count; i++) {
		json_object(j);
		put_u64(j, "id", i);
		put_u64(j, "parent", account->nodes.items[i].parent);
		put_node(j, spans, account, &account->nodes.items[i]);
		json_end(j);
	}
	json_end(j);
}

static void put_causes(struct json *j, const struct span_set *spans, struct account *account)
{
	struct cause_sum causes = { 0 };

	cause_sum_add(&causes, spans, account);
	cause_sum_finish(&causes);
	explain_causes_json(j, spans, account, &causes);
	cause_sum_done(&causes);
}

static void put_baseline(struct json *j, const struct span_set *spans,
			 const struct entry_requests *b)
{
	json_key(j, "baseline");
	json_object(j);
	put_u64(j, "count", b->latency.count);
	put_u64(j, "p50", b->latency.p50);
	put_u64(j, "p95", b->latency.p95);
	put_u64(j, "p99", b->latency.p99);
	put_u64(j, "left_out", b->lost);
	if (b->causes) {
		put_u64(j, "slowest", b->slow);
		explain_causes_json(j, spans, NULL, b->causes);
	}
	json_end(j);
}

static void put_resources(struct json *j, const struct model *model, const struct account *account)
{
	const struct resources *u = &account->used;

	json_key(j, "resources");
	json_object(j);
	put_u64(j, "cpu_time", u->cpu);
	put_u64(j, "voluntary_switches", u->blocked);
	put_u64(j, "involuntary_switches", u->preempted);
	put_u64(j, "sends", u->sends);
	put_u64(j, "sent_bytes", u->sent);
	put_u64(j, "receives", u->receives);
	put_u64(j, "received_bytes", u->received);
	put_u64(j, "disk_reads", u->disk_reads);
	put_u64(j, "disk_read_bytes", u->disk_read);
	put_u64(j, "disk_writes", u->disk_writes);
	put_u64(j, "disk_written_bytes", u->disk_written);
	put_u64(j, "syscalls", u->calls);
	json_key(j, "probe_events");
	json_object(j);
	for (size_t i = 0; i < account->probe_events.count; i++) {
		const char *name = model_probe_name(model, account->probe_events.items[i].type);

		put_u64(j, name ? name : "unknown", account->probe_events.items[i].count);
	}
	json_end(j);
	json_end(j);
}

void explain_json(struct json *j, const struct span_set *spans, struct account *account,
		  const struct entry_requests *baseline)
{
	const struct model *model = spans->model;

	json_object(j);
	put_u64(j, "start", account->start);
	put_u64(j, "end", account->end);
	put_u64(j, "duration", account->end - account->start);
	if (account->thread.i)
		put_thread(j, model, account->thread);
	if (account->span.i) {
		size_t roots = span_set_root_count(spans, account->span);

		put_span(j, spans, account->span);
		if (roots > 1)
			put_u64(j, "trace_roots", roots);
		put_baseline(j, spans, baseline);
	}
	put_nodes(j, spans, account);
	put_causes(j, spans, account);
	put_resources(j, model, account);
	put_u64(j, "explained_time", account->typed);
	put_lost(j, account->lost);
	json_end(j);
}

void path_json(struct json *j, const struct span_set *spans, const struct path *path)
{
	const struct model *model = spans->model;

	json_array(j);
	for (size_t i = 0; i < path->steps.count; i++) {
		const struct step *step = &path->steps.items[i];
		const struct cause *cause = account_step_cause(model, step);

		json_object(j);
		put_u64(j, "id", i + 1);
		put_u64(j, "parent", step->parent);
		put_u64(j, "depth", step->depth);
		json_key(j, "leaf");
		json_bool(j, step->is_leaf);
		put_u64(j, "start", step->start);
		put_u64(j, "end", step->end);
		put_state(j, step->state);
		if (step->thread.i)
			put_thread(j, model, step->thread);
		if (step->span.i)
			put_span(j, spans, step->span);
		put_other_span(j, spans, step->other, step->other_span);
		if (step->state == STATE_READY || step->state == STATE_RUNNING)
			put_u64(j, "cpu", step->cpu);
		put_flags(j, step->flags);
		if (cause)
			put_cause(j, model, cause);
		put_lock(j, model, step->thread, step->state, cause);
		put_ender(j, model, step->ender);
		put_lost(j, lost_of_step(spans, step));
		put_string(j, "text", phrase_path_step(spans, step, cause).s);
		json_end(j);
	}
	json_end(j);
}
