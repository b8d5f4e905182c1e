/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span - spans, and the trees they form.
 *
 * A parent mostly ends after its children and so comes after them; hence
 * spans are only collected while records come, and find each other when all
 * are there.  A span whose parent never comes is a root.
 */
#include <string.h>
#include <xxhash.h>

#include "model/model_parts.h"

static uint64_t span_key(const uint8_t trace[16], const uint8_t id[8])
{
	uint8_t both[24];

	memcpy(both, trace, 16);
	memcpy(both + 16, id, 8);
	return XXH3_64bits(both, sizeof(both));
}

void span_add(struct model *model, const struct source *source, const struct record_span *r)
{
	uint64_t *index = map_insert(&model->span_index, span_key(r->trace, r->span));

	if (*index)
		return; /* told twice */
	*index = model->spans.count;

	struct span *span = vec_push(&model->spans);

	*span = (struct span){
		.start = r->start + source->shift,
		.end = r->head.time + source->shift,
		.service = strtab_add(model->strings, source->get_string(source->arg, r->service)),
		.operation =
			strtab_add(model->strings, source->get_string(source->arg, r->operation)),
		.tid = r->head.tid,
		.pid = r->pid,
		.flags = r->flags,
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

/* Whether going up from the parent leads back to the span, as only broken traces have it. */
static bool makes_a_ring(const struct model *model, uint32_t span, uint32_t parent)
{
	for (uint32_t up = parent, steps = 0; up; up = model->spans.items[up].parent.i)
		if (up == span || ++steps > model->spans.count)
			return true;
	return false;
}

void model_finish(struct model *model)
{
	for (uint32_t i = 1; i < model->spans.count; i++) {
		struct span *span = &model->spans.items[i];

		span->parent = span->first_child = span->next = (span_id){ 0 };
		if (span->tid)
			span->thread = model_find_thread(model, span->tid, span->start);
	}
	/* backwards, so that children stand in the order in which they came */
	for (uint32_t i = model->spans.count - 1; i > 0; i--) {
		struct span *span = &model->spans.items[i];
		const uint64_t *found = is_zero(span->parent_id)
						? NULL
						: map_find(&model->span_index,
							   span_key(span->trace, span->parent_id));

		if (!found || makes_a_ring(model, i, *found))
			continue;
		span->parent = (span_id){ *found };
		span->next = model->spans.items[*found].first_child;
		model->spans.items[*found].first_child = (span_id){ i };
	}
}
