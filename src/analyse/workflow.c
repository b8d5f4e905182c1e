/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes are in breadth-first order, so the children of a node are contiguous, and neither a stack
 * nor a recursion is needed: backwards, all children are complete before their parent, and forwards
 * all parents before their children.  A node has no index of its parent, so that siblings can be
 * sorted in place.
 */
#include "analyse/workflow.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/sort.h"

/* ns; some formats round to microseconds. */
enum { ROUNDING = NSEC_PER_USEC, OVERLAP_PART = 10 };

/* The first port that Linux gives to a socket without one. */
enum { EPHEMERAL_PORTS = 32768 };

void workflow_done(struct workflow *flow)
{
	vec_done(&flow->nodes);
	vec_done(&flow->order);
	vec_done(&flow->digests);
	vec_done(&flow->text);
	map_done(&flow->names);
	map_done(&flow->addresses);
}

bool workflow_is_concurrent(nsec_t start, nsec_t end, nsec_t next_start, nsec_t next_end)
{
	nsec_t length = end - start, next_length = next_end - next_start, overlap;

	if (next_start >= end)
		return false;
	if (next_end <= end)
		return true;
	overlap = end - next_start;
	return overlap > ROUNDING &&
	       overlap > (length < next_length ? length : next_length) / OVERLAP_PART;
}

static void add_text(struct workflow *flow, const void *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		*vec_push(&flow->text) = ((const char *)text)[i];
}

/*
 * The part of an operation that is the same on every host and in every run.  That of a rebuilt
 * request is an address, of which only a port that was configured is.
 */
static const char *stable_part(const struct span *span, const char *operation)
{
	const char *colon = span->source == SPAN_INFERRED ? strrchr(operation, ':') : NULL;

	if (!colon)
		return operation;
	return strtoul(colon + 1, NULL, 10) < EPHEMERAL_PORTS ? colon : ":";
}

/* The length of the service divides the two names. */
static uint64_t digest_name(struct workflow *flow, const struct span_set *spans,
			    const struct span *span)
{
	const char *service = span_set_string(spans, span->service);
	const char *operation = stable_part(span, span_set_string(spans, span->operation));
	uint64_t length = strlen(service);

	flow->text.count = 0;
	add_text(flow, &length, sizeof(length));
	add_text(flow, service, length);
	add_text(flow, operation, strlen(operation));
	return XXH3_64bits(flow->text.items, flow->text.count);
}

static uint64_t name_of(struct workflow *flow, const struct span_set *spans,
			const struct span *span)
{
	bool is_inferred = span->source == SPAN_INFERRED;
	uint64_t key = (uint64_t)span->service.i << 32 | span->operation.i;
	uint64_t *known = map_insert(is_inferred ? &flow->addresses : &flow->names, key);

	if (!*known)
		*known = digest_name(flow, spans, span);
	return *known;
}

static void add_node(struct workflow *flow, const struct span_set *spans, span_id id,
		     uint32_t depth)
{
	const struct span *span = span_set_at(spans, id);
	nsec_t start = span_arrival(span);

	*vec_push(&flow->nodes) = (struct workflow_node){
		.span = id,
		.size = 1,
		.depth = depth,
		.name = name_of(flow, spans, span),
		.start = start,
		.end = span->end > start ? span->end : start,
	};
}

bool workflow_contains(const struct span_set *spans, const struct span *span)
{
	bool is_handoff = span->source == SPAN_INFERRED && span->kind == SPAN_INTERNAL;

	return !is_handoff || span->first_child.i || !span->parent.i ||
	       span_set_at(spans, span->parent)->source == SPAN_INFERRED;
}

static void add_tree(struct workflow *flow, const struct span_set *spans, span_id root)
{
	flow->nodes.count = 0;
	add_node(flow, spans, root, 0);
	for (size_t i = 0; i < flow->nodes.count; i++) {
		uint32_t first = flow->nodes.count, depth = flow->nodes.items[i].depth + 1;
		span_id child = span_set_at(spans, flow->nodes.items[i].span)->first_child;

		for (; child.i; child = span_set_at(spans, child)->next)
			if (workflow_contains(spans, span_set_at(spans, child)))
				add_node(flow, spans, child, depth);
		flow->nodes.items[i].first = first;
		flow->nodes.items[i].count = flow->nodes.count - first;
	}
}

static bool starts_before(const struct workflow_node *a, const struct workflow_node *b)
{
	return a->start != b->start ? a->start < b->start : a->end < b->end;
}

static bool has_smaller_digest(const struct workflow_node *a, const struct workflow_node *b)
{
	return a->folded != b->folded ? a->folded < b->folded : a->subtree < b->subtree;
}

static void sort_siblings(struct workflow_node *nodes, size_t count)
{
	sort_items(nodes, count, starts_before);
	for (size_t from = 0, to; from < count; from = to) {
		const struct workflow_node *last = &nodes[from]; /* to end, in this group */

		for (to = from + 1; to < count; to++) {
			if (!workflow_is_concurrent(last->start, last->end, nodes[to].start,
						    nodes[to].end))
				break;
			if (nodes[to].end > last->end)
				last = &nodes[to];
		}
		sort_items(&nodes[from], to - from, has_smaller_digest);
	}
}

static uint64_t digest_of(struct workflow *flow)
{
	return XXH3_64bits(flow->digests.items,
			   flow->digests.count * sizeof(flow->digests.items[0]));
}

/* All children of the node are complete. */
static void complete(struct workflow *flow, struct workflow_node *node)
{
	const struct workflow_node *children = &flow->nodes.items[node->first];

	sort_siblings(&flow->nodes.items[node->first], node->count);
	flow->digests.count = 0;
	*vec_push(&flow->digests) = node->name;
	for (size_t i = 0; i < node->count; i++) {
		*vec_push(&flow->digests) = children[i].subtree;
		node->size += children[i].size;
	}
	node->subtree = digest_of(flow);

	flow->digests.count = 1;
	for (size_t i = 0; i < node->count; i++)
		if (!i || children[i].folded != children[i - 1].folded)
			*vec_push(&flow->digests) = children[i].folded;
	node->folded = digest_of(flow);
}

/* Numbers the nodes in depth-first order; the same with children first follows from the sizes. */
static void number(struct workflow *flow)
{
	struct workflow_node *nodes = flow->nodes.items;

	flow->order.count = 0;
	for (size_t i = 0; i < flow->nodes.count; i++)
		*vec_push(&flow->order) = 0;
	for (size_t i = 0; i < flow->nodes.count; i++) {
		const struct workflow_node *node = &nodes[i];
		uint32_t position = node->position + 1;

		flow->order.items[node->position + node->size - 1 - node->depth] = i;
		for (size_t k = node->first; k < (size_t)node->first + node->count; k++) {
			nodes[k].position = position;
			position += nodes[k].size;
		}
	}
}

void workflow_find(struct workflow *flow, const struct span_set *spans, span_id root)
{
	add_tree(flow, spans, root);
	for (size_t i = flow->nodes.count; i-- > 0;)
		complete(flow, &flow->nodes.items[i]);
	number(flow);
}
