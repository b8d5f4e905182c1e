/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links spans into trees as they come.
 *
 * Most parents end after their children and thus come after them in the input.  A span whose
 * parent is not recorded yet is an orphan, and a root.  When the parent comes, it adopts its
 * orphans, so children are always in the order of the input.
 *
 * In a broken trace, parents can form a cycle.  The span that would close it, the last one to
 * come, stays a root.  To find this out without a walk up the tree, each span has a link to an
 * ancestor, and a search for the root shortens the links that it follows (union-find).
 */
#include <string.h>

#include "model/model_internal.h"

static struct span_link *link_at(struct model *model, uint32_t span)
{
	return &model->links.items[span];
}

static uint32_t root_of(struct model *model, uint32_t span)
{
	while (link_at(model, span)->up.i) {
		struct span_link *link = link_at(model, span);
		span_id above = link_at(model, link->up.i)->up;

		if (above.i)
			link->up = above;
		span = link->up.i;
	}
	return span;
}

static bool has_parent_id(const struct span *span)
{
	static const uint8_t none[sizeof(span->parent_id)];

	return memcmp(span->parent_id, none, sizeof(none)) != 0;
}

/* A root gets a parent. */
static void add_child(struct model *model, uint32_t parent, uint32_t child)
{
	struct span_link *link = link_at(model, parent);

	if (link->last_child.i)
		model->spans.items[link->last_child.i].next = (span_id){ child };
	else
		model->spans.items[parent].first_child = (span_id){ child };
	link->last_child = (span_id){ child };
	link_at(model, child)->up = (span_id){ parent };
	model->spans.items[child].parent = (span_id){ parent };
}

/* The first orphan of a parent is in the lower half of the value, the last in the upper half. */
static void add_orphan(struct model *model, uint64_t parent, uint32_t orphan)
{
	uint64_t *list = map_insert(&model->orphans, parent);

	if (*list)
		link_at(model, *list >> 32)->next_orphan = (span_id){ orphan };
	*list = (uint64_t)orphan << 32 | (*list ? (uint32_t)*list : orphan);
}

static void adopt_orphans(struct model *model, uint64_t key, uint32_t parent)
{
	const uint64_t *list = map_find(&model->orphans, key);

	if (!list)
		return;
	for (uint32_t at = (uint32_t)*list, next; at; at = next) {
		next = link_at(model, at)->next_orphan.i;
		link_at(model, at)->next_orphan = (span_id){ 0 };
		if (at != parent)
			add_child(model, parent, at);
	}
	map_remove(&model->orphans, key);
}

static void find_parent(struct model *model, uint32_t id)
{
	const struct span *span = &model->spans.items[id];
	uint64_t key = model_span_hash(span->trace, span->parent_id);
	const uint64_t *parent = has_parent_id(span) ? map_find(&model->span_index, key) : NULL;

	if (parent && root_of(model, *parent) != id)
		add_child(model, *parent, id);
	else if (!parent && has_parent_id(span))
		add_orphan(model, key, id);
}

void model_link_span(struct model *model, span_id id, uint64_t key)
{
	*vec_push(&model->links) = (struct span_link){ 0 };
	adopt_orphans(model, key, id.i);
	find_parent(model, id.i);
}

/* Numbers the spans of a tree in depth-first order, so that a subtree is a range of numbers. */
static void number_tree(struct model *model, uint32_t root)
{
	const struct span *spans = model->spans.items;
	struct span_range *ranges = model->ranges.items;
	uint32_t number = 0;

	for (uint32_t at = root; at;) {
		ranges[at] = (struct span_range){ { root }, ++number, 0 };
		if (spans[at].first_child.i) {
			at = spans[at].first_child.i;
			continue;
		}
		while (at && !spans[at].next.i) {
			ranges[at].last = number;
			at = spans[at].parent.i;
		}
		ranges[at].last = number;
		at = spans[at].next.i;
	}
}

void model_number_spans(struct model *model)
{
	size_t first = model->ranges.count ?: 1;

	while (model->ranges.count < model->spans.count)
		*vec_push(&model->ranges) = (struct span_range){ 0 };
	/* all trees with a new span; a root without a number is yet to be done */
	for (uint32_t i = first; i < model->spans.count; i++)
		model->ranges.items[root_of(model, i)].first = 0;
	for (uint32_t i = first; i < model->spans.count; i++) {
		uint32_t root = root_of(model, i);

		if (!model->ranges.items[root].first)
			number_tree(model, root);
	}
}

bool model_span_is_within(const struct model *model, span_id id, span_id top)
{
	const struct span_range *ranges = model->ranges.items;

	if (!id.i || !top.i || id.i >= model->ranges.count || top.i >= model->ranges.count)
		return false;
	return ranges[top.i].root.i == ranges[id.i].root.i &&
	       ranges[top.i].first <= ranges[id.i].first && ranges[id.i].last <= ranges[top.i].last;
}

/* How a sweep moves spans: the first `dropped` ones go, the others move up. */
static span_id moved(span_id id, uint32_t dropped)
{
	return (span_id){ id.i > dropped ? id.i - dropped : 0 };
}

static bool move_indexed(void *arg, uint64_t key, uint64_t *value)
{
	uint32_t dropped = *(const uint32_t *)arg;

	if (*value <= dropped)
		return false;
	*value -= dropped;
	return true;
}

/* Children are in order, so the dropped ones are the first. */
static void drop_first_spans(struct model *model, uint32_t dropped)
{
	struct span *spans = model->spans.items;

	for (uint32_t i = 1; i <= dropped; i++)
		if (spans[i].parent.i > dropped)
			spans[spans[i].parent.i].first_child = spans[i].next;
	for (uint32_t i = dropped + 1; i < model->spans.count; i++) {
		spans[i].parent = moved(spans[i].parent, dropped);
		spans[i].first_child = moved(spans[i].first_child, dropped);
		spans[i].next = spans[i].parent.i ? moved(spans[i].next, dropped) : (span_id){ 0 };
		spans[i - dropped] = spans[i];
	}
	model->spans.count -= dropped;
	vec_shrink(&model->spans);
	map_sweep(&model->span_index, move_indexed, &dropped);
}

/* Links again, as roots and orphans can have changed. */
static void relink(struct model *model)
{
	map_done(&model->orphans);
	model->links.count = model->ranges.count = 0;
	for (uint32_t i = 0; i < model->spans.count; i++)
		*vec_push(&model->links) = (struct span_link){ .up = model->spans.items[i].parent };
	for (uint32_t i = 1; i < model->spans.count; i++) {
		const struct span *span = &model->spans.items[i];
		uint64_t key = model_span_hash(span->trace, span->parent_id);

		if (span->parent.i)
			link_at(model, span->parent.i)->last_child = (span_id){ i };
		else if (has_parent_id(span) && !map_find(&model->span_index, key))
			add_orphan(model, key, i);
	}
	vec_shrink(&model->links);
	vec_shrink(&model->ranges);
}

uint32_t model_sweep_spans(struct model *model, nsec_t t)
{
	uint32_t dropped = 0;

	while (dropped + 1 < model->spans.count && model->spans.items[dropped + 1].end < t)
		dropped++;
	if (dropped) {
		drop_first_spans(model, dropped);
		relink(model);
		model->updated_spans -=
			dropped < model->updated_spans ? dropped : model->updated_spans;
	}
	for (uint32_t i = 1; i < model->spans.count; i++)
		if (model_thread(model, model->spans.items[i].thread)->forgotten)
			model->spans.items[i].thread = (thread_id){ 0 };
	return dropped;
}
