/* SPDX-License-Identifier: Apache-2.0 */
#include "model/span_set.h"

#include <string.h>

#include "model/model_internal.h"

void span_set_done(struct span_set *set)
{
	vec_done(&set->inferred);
	vec_done(&set->united);
	map_done(&set->index);
	strtab_free(set->strings);
	span_slices_done(&set->slices);
	*set = (struct span_set){ 0 };
}

/* From an index in `inferred` to the id of the same span in the set. */
static span_id id_of(const struct span_set *set, span_id index)
{
	size_t first = model_span_count(set->model) - 1;

	return (span_id){ index.i ? first + index.i : 0 };
}

span_id span_set_add(struct span_set *set, const struct span *span)
{
	uint64_t hash = model_span_hash(span->trace, span->id), *index;
	const uint64_t *recorded = map_find(&set->model->span_index, hash);

	if (recorded)
		return (span_id){ *recorded };
	if (!set->inferred.count)
		*vec_push(&set->inferred) = (struct span){ 0 };
	index = map_insert(&set->index, hash);
	if (!*index) {
		*index = set->inferred.count;
		*vec_push(&set->inferred) = *span;
	}
	return id_of(set, (span_id){ *index });
}

str_id span_set_intern(struct span_set *set, const char *name)
{
	str_id id = strtab_find(set->model->strings, name);

	if (id.i || !*name)
		return id;
	if (!set->strings)
		set->strings = strtab_new();
	return (str_id){ strtab_count(set->model->strings) + strtab_add(set->strings, name).i };
}

void span_set_finish(struct span_set *set)
{
	for (uint32_t i = 1; i < set->inferred.count; i++) {
		struct span *span = &set->inferred.items[i];
		const uint64_t *parent =
			map_find(&set->index, model_span_hash(span->trace, span->parent_id));

		span->parent = (span_id){ parent ? *parent : 0 };
	}
	model_link_spans(set->inferred.items, set->inferred.count);
	for (uint32_t i = 1; i < set->inferred.count; i++) {
		struct span *span = &set->inferred.items[i];

		span->parent = id_of(set, span->parent);
		span->first_child = id_of(set, span->first_child);
		span->next = id_of(set, span->next);
	}
	span_slices_finish(&set->slices);
}

void span_set_unite(struct span_set *set)
{
	for (uint32_t i = 0; i < span_set_count(set); i++) {
		struct span span = *span_set_at(set, (span_id){ i }); /* before the set grows */

		*vec_push(&set->united) = span;
	}
}

struct span *span_set_edit(struct span_set *set, span_id id)
{
	return &set->united.items[id.i];
}

void span_set_relink(struct span_set *set)
{
	model_link_spans(set->united.items, set->united.count);
}

size_t span_set_count(const struct span_set *set)
{
	size_t inferred = set->inferred.count ? set->inferred.count - 1 : 0;

	return model_span_count(set->model) + inferred;
}

const struct span *span_set_at(const struct span_set *set, span_id id)
{
	size_t recorded = set->model->spans.count;

	if (id.i < set->united.count)
		return &set->united.items[id.i];
	if (id.i >= recorded && id.i - recorded + 1 < set->inferred.count)
		return &set->inferred.items[id.i - recorded + 1];
	return &set->model->spans.items[id.i < recorded ? id.i : 0];
}

const char *span_set_string(const struct span_set *set, str_id id)
{
	size_t recorded = strtab_count(set->model->strings);

	if (id.i < recorded || !set->strings)
		return model_string(set->model, id);
	return strtab_get(set->strings, (str_id){ id.i - recorded });
}

span_id span_set_find(const struct span_set *set, const uint8_t trace[16], const uint8_t id[8])
{
	uint64_t hash = model_span_hash(trace, id);
	const uint64_t *recorded = map_find(&set->model->span_index, hash);
	const uint64_t *inferred = map_find(&set->index, hash);

	if (recorded)
		return (span_id){ *recorded };
	return inferred ? id_of(set, (span_id){ *inferred }) : (span_id){ 0 };
}

size_t span_set_root_count(const struct span_set *set, span_id id)
{
	const struct span *span = span_set_at(set, id);
	size_t count = 0;

	for (uint32_t i = 1; i < span_set_count(set); i++) {
		const struct span *other = span_set_at(set, (span_id){ i });

		count += !other->parent.i &&
			 memcmp(other->trace, span->trace, sizeof(span->trace)) == 0;
	}
	return count;
}

span_id span_set_next(const struct span_set *set, span_id root, span_id at)
{
	const struct span *span = span_set_at(set, at);

	if (span->first_child.i)
		return span->first_child;
	while (at.i != root.i && !span_set_at(set, at)->next.i)
		at = span_set_at(set, at)->parent;
	return at.i == root.i ? (span_id){ 0 } : span_set_at(set, at)->next;
}
