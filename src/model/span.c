/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans, and what completes a model after some records or after the last one.
 */
#include <string.h>

#include "base/hash.h"
#include "model/model_internal.h"

uint64_t model_span_hash(const uint8_t trace[16], const uint8_t id[8])
{
	uint8_t both[24];

	memcpy(both, trace, 16);
	memcpy(both + 16, id, 8);
	return hash_bytes(both, sizeof(both));
}

void model_add_span(struct model *model, const struct source *source, const struct record_span *r)
{
	uint64_t key = model_span_hash(r->trace, r->span);
	uint64_t *index = map_insert(&model->span_index, key);

	if (*index)
		return; /* two inputs contain it */
	*index = model->spans.count;

	struct span *span = vec_push(&model->spans);

	*span = (struct span){
		.start = source_time(source, r->start),
		.end = source_time(source, r->head.time),
		.service = strtab_add(model->strings, source->get_string(source->arg, r->service)),
		.operation =
			strtab_add(model->strings, source->get_string(source->arg, r->operation)),
		.tid = r->head.tid,
		.pid = r->pid,
		.host_name = strtab_add(model->strings, source->host_name ?: ""),
		.host = source->host,
		.has_host_clock = source->has_host_clock,
		.flags = r->flags,
		.source = r->source,
		.kind = r->kind,
	};
	if (span->end < span->start) /* no duration, rather than one of 2^64 ns */
		span->start = span->end;
	model_begin_at(model, span->start);
	if (!model->begin_is_set && span->start < model->begin)
		model->begin = span->start; /* spans come in the order of their ends */
	memcpy(span->trace, r->trace, sizeof(span->trace));
	memcpy(span->id, r->span, sizeof(span->id));
	memcpy(span->parent_id, r->parent, sizeof(span->parent_id));
	model_link_span(model, (span_id){ model->spans.count - 1 }, key);
	model_find_ref(model, (span_id){ model->spans.count - 1 }, key);
}

/*
 * In a broken trace, parents can form a cycle.  Walk up from each span, visit each
 * span once, and mark it with the start of the walk.  If the parent of a span has
 * the mark of the same walk, the span closes a cycle and becomes a root.
 */
static void break_cycles(struct span *spans, size_t count)
{
	_cleanup_(freep) uint32_t *walk = must_alloc((count + 1) * sizeof(*walk));

	for (uint32_t i = 1; i < count; i++) {
		uint32_t at = i, up;

		for (; at && !walk[at]; at = up) {
			walk[at] = i;
			up = spans[at].parent.i;
			if (walk[up] == i)
				spans[at].parent.i = up = 0;
		}
	}
}

void model_link_spans(struct span *spans, size_t count)
{
	break_cycles(spans, count);
	for (uint32_t i = 1; i < count; i++)
		spans[i].first_child = spans[i].next = (span_id){ 0 };
	/* backwards, as each child becomes the first of its parent */
	for (uint32_t i = count; i-- > 1;) {
		struct span *span = &spans[i], *parent = &spans[span->parent.i];

		if (!span->parent.i)
			continue;
		span->next = parent->first_child;
		parent->first_child = (span_id){ i };
	}
}

/* The thread with the tid of the span, if it is in the process of the span. */
static thread_id thread_for(const struct model *model, const struct span *span)
{
	thread_id id = { 0 };

	if (span->tid)
		id = model_host_thread(model, span->host, span->tid, span->start);
	return span->pid && model_thread(model, id)->pid != span->pid ? (thread_id){ 0 } : id;
}

/* The threads of spans that came since the last call, or of all that have none so far. */
static void find_threads(struct model *model, uint32_t first)
{
	for (uint32_t i = first ?: 1; i < model->spans.count; i++) {
		struct span *span = &model->spans.items[i];

		if (span->thread.i)
			continue;
		span->thread = thread_for(model, span);
		if (span->thread.i)
			thread_used(thread_at(model, span->thread), span->end);
	}
	model->updated_spans = model->spans.count;
}

void model_update(struct model *model)
{
	find_threads(model, model->updated_spans);
	model_update_contexts(model);
	model_update_losses(model);
	model_name_processes(model);
}

void model_finish(struct model *model)
{
	find_threads(model, 0);
	model_correct_clocks(model);
	model_update(model);
}
