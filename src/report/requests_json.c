/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "analyse/lost.h"
#include "analyse/requests/spans.h"
#include "event/syscall.h"
#include "report/explain.h"
#include "report/json_put.h"
#include "event/kind.h"
#include "report/lost.h"
#include "report/requests.h"

static void put_states(struct json *j, const char *key, const nsec_t states[128])
{
	json_key(j, key);
	json_object(j);
	for (const char *letter = state_letters; *letter; letter++)
		if (states[(int)*letter]) {
			char name[2] = { *letter, '\0' };

			put_u64(j, name, states[(int)*letter]);
		}
	json_end(j);
}

static bool is_counted(const struct request_view *view, const char *name)
{
	for (size_t i = 0; i < view->counted_count; i++)
		if (strcmp(view->counted[i], name) == 0)
			return true;
	return !view->counted_count;
}

static void put_calls(struct json *j, const struct request_view *view,
		      const struct request_use *use)
{
	json_key(j, "syscalls");
	json_object(j);
	for (size_t i = 0; i < use->calls.count; i++) {
		const char *name = syscall_name(use->calls.items[i].nr) ?: "unknown";

		if (!is_counted(view, name))
			continue;
		json_key(j, name);
		json_object(j);
		put_u64(j, "count", use->calls.items[i].count);
		put_u64(j, "duration", use->calls.items[i].time);
		json_end(j);
	}
	json_end(j);
}

static void put_use(struct json *j, const struct request_view *view, uint32_t span)
{
	struct request_use use = { 0 };

	request_use_add(view->model, view->requests, span, &use);
	put_states(j, "states", use.states);
	put_u64(j, "sends", use.sends);
	put_u64(j, "sent_bytes", use.sent_bytes);
	put_u64(j, "receives", use.receives);
	put_u64(j, "received_bytes", use.received_bytes);
	put_calls(j, view, &use);
	json_key(j, "probe_events");
	json_object(j);
	for (size_t i = 0; i < use.probe_events.count; i++) {
		const char *name = model_probe_name(view->model, use.probe_events.items[i].type);

		if (!name || !is_counted(view, name))
			continue;
		json_key_escaped(j, name);
		json_u64(j, use.probe_events.items[i].count);
	}
	json_end(j);
	request_use_done(&use);
}

/* The part of the request's critical path in a span, by state. */
static void put_path_states(struct json *j, const struct request_view *view,
			    const struct request_span *span, const struct map *states)
{
	span_id id = span_set_find(view->spans, span->trace, span->id);
	nsec_t times[128] = { 0 };

	for (const char *letter = state_letters; *letter; letter++) {
		const uint64_t *time = map_find(states, (uint64_t)id.i << 8 | *letter);

		times[(int)*letter] = time && id.i ? *time : 0;
	}
	put_states(j, "path_states", times);
}

static void put_span(struct json *j, const struct request_view *view, uint32_t place,
		     const struct map *states)
{
	const struct request_span *spans = view->requests->spans.items, *span = &spans[place];
	const struct thread *thread = model_thread(view->model, span->thread);
	struct request_address address = request_address(view->model, span);

	json_object(j);
	put_hex(j, "span_id", span->id, sizeof(span->id));
	if (span->parent)
		put_hex(j, "parent_span_id", spans[span->parent].id, sizeof(span->id));
	put_string(j, "service", request_service(view->model, span->thread));
	put_string(j, "host", view->host_name(view->arg, thread->host));
	put_u64(j, "pid", thread->pid);
	put_u64(j, "tid", thread->tid);
	put_string(j, "comm", model_string(view->model, thread->comm));
	put_string(j, "kind", request_kind_name(span->kind));
	if (address.local[0]) {
		put_string(j, "local", address.local);
		put_string(j, "peer", address.peer);
	}
	put_u64(j, "start", span->start);
	if (span->kind == REQUEST_NETWORK) {
		put_u64(j, "read", span->read);
		put_u64(j, "sent", span->sent);
	}
	put_u64(j, "end", span->end);
	if (span->arrival_unknown)
		put_bool(j, "arrival_unknown", true);
	json_key(j, "confidence");
	json_real(j, span->confidence);
	if (span->parent_unknown)
		put_bool(j, "parent_unknown", true);
	if (span->no_reply)
		put_bool(j, "no_reply", true);
	put_lost(j, lost_of_request_span(view->model, span));
	put_path_states(j, view, span, states);
	put_use(j, view, place);
	json_end(j);
}

static void put_request(struct json *j, const struct request_view *view, uint32_t root)
{
	const struct request_span *span = &view->requests->spans.items[root];
	struct request_address address = request_address(view->model, span);
	_cleanup_(freep) char *shape = request_shape(view->model, view->requests, root);
	span_id id = span_set_find(view->spans, span->trace, span->id);
	struct map states = { 0 };

	if (id.i)
		path_states_by_span(view->spans, id, &states);
	json_object(j);
	put_hex(j, "trace_id", span->trace, sizeof(span->trace));
	put_string(j, "entry", address.local);
	put_u64(j, "start", span->start);
	put_u64(j, "end", span->end);
	put_u64(j, "duration", span->end - span->start);
	put_string(j, "shape", shape);
	put_lost(j, lost_of_request(view->model, view->requests, root));
	json_key(j, "spans");
	json_array(j);
	for (uint32_t at = root; at; at = requests_next(view->requests, root, at, NULL))
		put_span(j, view, at, &states);
	json_end(j);
	json_end(j);
	map_done(&states);
}

static void put_times(struct json *j, const struct request_group *g)
{
	put_u64(j, "count", g->count);
	put_u64(j, "no_reply", g->no_reply);
	put_u64(j, "p50", g->latency.p50);
	put_u64(j, "p95", g->latency.p95);
	put_u64(j, "p99", g->latency.p99);
}

/* Where the latency of a shape's requests went. */
static void put_path(struct json *j, const struct request_group *shape)
{
	json_key(j, "path");
	json_array(j);
	for (size_t i = 0; i < shape->path.items.count; i++) {
		const struct path_share *share = &shape->path.items.items[i];
		char state[2] = { share->state, '\0' };

		json_object(j);
		put_string(j, "service", share->service);
		put_string(j, "state", state);
		put_u64(j, "duration", share->time);
		json_end(j);
	}
	json_end(j);
}

static void put_entry(struct json *j, const struct span_set *spans, const struct request_sum *sum,
		      uint32_t place)
{
	const struct request_group *entry = &sum->entries.items[place];

	json_object(j);
	put_string(j, "entry", strtab_get(sum->strings, entry->name));
	put_string(j, "service", strtab_get(sum->strings, entry->service));
	put_times(j, entry);
	json_key(j, "shapes");
	json_array(j);
	for (size_t i = 0; i < sum->shapes.count; i++) {
		const struct request_group *shape = &sum->shapes.items[i];

		if (shape->entry != place)
			continue;
		json_object(j);
		put_string(j, "shape", strtab_get(sum->strings, shape->name));
		put_times(j, shape);
		put_path(j, shape);
		explain_causes_json(j, spans, NULL, &shape->causes);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

/* The losses of the whole recording. */
static void put_losses(struct json *j, const struct request_view *view)
{
	put_lost(j, model_lost(view->model, 0, UINT64_MAX));
	json_key(j, "losses");
	json_array(j);
	for (size_t i = 0; i < model_loss_count(view->model); i++) {
		const struct loss *loss = model_loss(view->model, i);

		json_object(j);
		put_string(j, "host", view->host_name(view->arg, loss->host));
		put_u64(j, loss->tid ? "tid" : "cpu", loss->tid ? loss->tid : loss->cpu);
		put_u64(j, "start", loss->start);
		put_u64(j, "end", loss->end);
		put_u64(j, "count", loss->count);
		json_end(j);
	}
	json_end(j);
}

void requests_json(struct json *j, const struct request_view *view)
{
	_cleanup_(request_sum_done) struct request_sum sum;

	request_sum_find(view->spans, view->requests, view->summed, view->summed_count, &sum);
	json_object(j);
	json_key(j, "requests");
	json_array(j);
	for (size_t i = 0; i < view->root_count; i++)
		put_request(j, view, view->roots[i]);
	json_end(j);
	json_key(j, "entries");
	json_array(j);
	for (uint32_t i = 0; i < sum.entries.count; i++)
		put_entry(j, view->spans, &sum, i);
	json_end(j);
	put_u64(j, "parent_unknown", sum.unparented);
	put_u64(j, "left_out", view->lost);
	put_losses(j, view);
	view->more(view->arg, j);
	json_end(j);
	json_newline(j);
}
