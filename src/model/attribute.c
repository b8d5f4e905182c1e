/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes of spans.
 *
 * They come before their span, mixed with those of other spans.  Each update puts the new ones of a
 * span side by side.  If a span has attributes from an earlier update, these move to the new ones
 * and leave unused items behind, until the next sweep.
 */
#include <stdlib.h>

#include "model/model_internal.h"

typedef VEC(struct attribute) attribute_list;

void model_add_attribute(struct model *model, const struct source *source,
			 const struct record_attribute *r)
{
	uint32_t ref = model_ref_of(model, r->trace, r->span);

	if (ref)
		*vec_push(&model->attributes) = (struct attribute){
			.value = r->type == ATTRIBUTE_STRING
					 ? model_add_string(model, source, r->value).i
					 : r->value,
			.ref = ref,
			.key = model_add_string(model, source, r->key),
			.type = r->type,
		};
}

/* A span in two inputs has its attributes twice; as with spans, the first one stays. */
static void take(attribute_list *list, struct map *seen, const struct attribute *attribute)
{
	uint64_t *again = map_insert(seen, (uint64_t)attribute->ref << 32 | attribute->key.i);

	if (!*again)
		*vec_push(list) = *attribute;
	*again = true;
}

/* The attributes from `first` on, each after the earlier ones of its span. */
static attribute_list collect(struct model *model, size_t first)
{
	attribute_list list = { 0 };
	struct map seen = { 0 };

	for (size_t i = first; i < model->attributes.count; i++) {
		struct span_ref *ref = &model->refs.items[model->attributes.items[i].ref];

		for (; ref->attribute_count; ref->attribute_count--, ref->attributes++) {
			struct attribute *old = &model->attributes.items[ref->attributes];

			take(&list, &seen, old);
			old->ref = 0;
		}
		take(&list, &seen, &model->attributes.items[i]);
	}
	map_done(&seen);
	return list;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The refs of the attributes, in ascending order; counts the attributes of each. */
static uint32_t *count_refs(struct model *model, const attribute_list *list, size_t *ret_count)
{
	uint32_t *refs = must_alloc((list->count + 1) * sizeof(*refs));
	size_t count = 0;
	bool is_sorted = true;

	for (size_t i = 0; i < list->count; i++) {
		uint32_t ref = list->items[i].ref;

		if (model->refs.items[ref].attribute_count++)
			continue;
		is_sorted &= !count || refs[count - 1] < ref;
		refs[count++] = ref;
	}
	if (!is_sorted)
		qsort(refs, count, sizeof(*refs), by_number);
	*ret_count = count;
	return refs;
}

void model_group_attributes(struct model *model)
{
	size_t first = model->grouped_attributes, count;

	if (first == model->attributes.count)
		return;

	attribute_list list = collect(model, first);
	_cleanup_(freep) uint32_t *refs = count_refs(model, &list, &count);
	uint32_t at = first;

	for (size_t i = 0; i < count; i++) {
		struct span_ref *ref = &model->refs.items[refs[i]];

		ref->attributes = at;
		at += ref->attribute_count;
		ref->attribute_count = 0;
	}
	while (model->attributes.count < at)
		vec_push(&model->attributes);
	for (size_t i = 0; i < list.count; i++) {
		struct span_ref *ref = &model->refs.items[list.items[i].ref];

		model->attributes.items[ref->attributes + ref->attribute_count++] = list.items[i];
	}
	model->attributes.count = model->grouped_attributes = at;
	vec_done(&list);
}

/* Whether the span of an attribute is in the window, or may still come. */
static bool stays(const struct model *model, size_t i, uint32_t ref)
{
	return ref && (model->refs.items[ref].span.i || i >= model->swept_attributes);
}

void model_sweep_attributes(struct model *model, const uint32_t *ref_numbers)
{
	size_t kept = 0, grouped = 0;

	for (size_t i = 0; i < model->refs.count; i++)
		model->refs.items[i].attribute_count = 0;
	for (size_t i = 0; i < model->attributes.count; i++) {
		struct attribute attribute = model->attributes.items[i];

		attribute.ref = ref_numbers[attribute.ref];
		if (stays(model, i, attribute.ref)) {
			struct span_ref *ref = &model->refs.items[attribute.ref];

			if (i < model->grouped_attributes && !ref->attribute_count++)
				ref->attributes = kept;
			model->attributes.items[kept++] = attribute;
		}
		if (i + 1 == model->grouped_attributes)
			grouped = kept;
	}
	model->attributes.count = model->swept_attributes = kept;
	model->grouped_attributes = grouped;
	vec_shrink(&model->attributes);
}

struct attributes model_span_attributes(const struct model *model, span_id id)
{
	const struct span_ref *ref = model_span_ref(model, model_span(model, id)->ref);

	if (!ref->attribute_count)
		return (struct attributes){ 0 };
	return (struct attributes){ model->attributes.items + ref->attributes,
				    ref->attribute_count };
}

struct attributes model_attributes(const struct model *model)
{
	return (struct attributes){ model->attributes.items, model->attributes.count };
}
