/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span - spans, and the trees they form.
 *
 * A parent mostly ends after its children and so comes after them; hence
 * spans are only collected while records come, and find each other when all
 * are there.  A span whose parent never comes is a root.
 */
#include <string.h>

#include "base/hash.h"
#include "model/model_internal.h"

uint64_t span_hash(const uint8_t trace[16], const uint8_t id[8])
{
	uint8_t both[24];

	memcpy(both, trace, 16);
	memcpy(both + 16, id, 8);
	return hash_bytes(both, sizeof(both));
}

void span_add(struct model *model, const struct source *source, const struct record_span *r)
{
	uint64_t *index = map_insert(&model->span_index, span_hash(r->trace, r->span));

	if (*index)
		return; /* told twice */
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
	begin_at(model, span->start);
	if (!model->begin_told && span->start < model->begin)
		model->begin = span->start; /* they come in the order of their ends */
	memcpy(span->trace, r->trace, sizeof(span->trace));
	memcpy(span->id, r->span, sizeof(span->id));
	memcpy(span->parent_id, r->parent, sizeof(span->parent_id));
}

static bool is_zero(const uint8_t id[8])
{
	static const uint8_t zero[8];

	return memcmp(id, zero, sizeof(zero)) == 0;
}

/* The parent that a span names, or 0. */
static uint32_t named_parent(const struct model *model, const struct span *span)
{
	const uint64_t *found;

	if (is_zero(span->parent_id))
		return 0;
	found = map_find(&model->span_index, span_hash(span->trace, span->parent_id));
	return found ? *found : 0;
}

/*
 * In a broken trace, going up may lead back to where it began.  Each span is
 * passed once, and marked with the way on which it was: whoever meets a mark of
 * its own way has closed a ring, and becomes a root.
 */
static void break_rings(struct span *spans, size_t count)
{
	_cleanup_(freep) uint32_t *way = must_alloc((count + 1) * sizeof(*way));

	for (uint32_t i = 1; i < count; i++) {
		uint32_t at = i, up;

		for (; at && !way[at]; at = up) {
			way[at] = i;
			up = spans[at].parent.i;
			if (way[up] == i)
				spans[at].parent.i = up = 0;
		}
	}
}

void spans_link(struct span *spans, size_t count)
{
	break_rings(spans, count);
	for (uint32_t i = 1; i < count; i++)
		spans[i].first_child = spans[i].next = (span_id){ 0 };
	/* backwards, so that children stand in the order in which they came */
	for (uint32_t i = count; i-- > 1;) {
		struct span *span = &spans[i], *parent = &spans[span->parent.i];

		if (!span->parent.i)
			continue;
		span->next = parent->first_child;
		parent->first_child = (span_id){ i };
	}
}

/* Its tid tells which one, if it is one of the process that it says. */
static thread_id thread_for(const struct model *model, const struct span *span)
{
	thread_id id = { 0 };

	if (span->tid)
		id = find_thread(model, span->host, span->tid, span->start);
	return span->pid && model_thread(model, id)->pid != span->pid ? (thread_id){ 0 } : id;
}

void model_finish(struct model *model)
{
	for (uint32_t i = 1; i < model->spans.count; i++) {
		struct span *span = &model->spans.items[i];

		span->parent = (span_id){ named_parent(model, span) };
		span->thread = thread_for(model, span);
	}
	spans_link(model->spans.items, model->spans.count);
	span_clocks_correct(model);
	contexts_finish(model);
	losses_finish(model);
}
