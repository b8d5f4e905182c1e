/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends of spans that were not finished when they were exported.
 *
 * An unfinished span lasted at least until its last child ended, so it gets the end of
 * that child.  Children can be unfinished, too: each span passes its end on to its parent
 * after all of its own unfinished children have done so.  Spans in a cycle never do, and
 * their ends do not change.
 */
#include "base/map.h"
#include "read/span/input.h"

/* An unfinished span. */
struct span_without_end {
	uint64_t index;   /* among all spans */
	uint64_t parent;  /* index + 1 of an unfinished parent, or 0 */
	uint64_t pending; /* unfinished children that have not passed on their ends */
	bool is_leaf;     /* has no unfinished children */
};

struct spans_without_end {
	VEC(struct span_without_end) items; /* in the order of all spans */
	struct map by_id;                   /* span_hash() -> index + 1 */
};

static void find_unfinished(const struct span_input *in, struct spans_without_end *unfinished)
{
	for (size_t i = 0; i < in->spans.count; i++) {
		const struct record_span *span = &in->spans.items[i].record;

		if (!(span->flags & SPAN_OPEN) || span->head.time != span->start)
			continue;
		*vec_push(&unfinished->items) = (struct span_without_end){ .index = i };

		uint64_t *index = map_insert(&unfinished->by_id, span_hash(span, span->span));

		*index = *index ? *index : unfinished->items.count;
	}
}

static uint64_t unfinished_parent(const struct spans_without_end *unfinished,
				  const struct record_span *span)
{
	const uint64_t *found = map_find(&unfinished->by_id, span_hash(span, span->parent));

	return found ? *found : 0;
}

static void pass_on(struct span_input *in, const struct spans_without_end *unfinished,
		    uint64_t parent, nsec_t end)
{
	struct record_span *span =
		&in->spans.items[unfinished->items.items[parent - 1].index].record;

	if (end > span->head.time)
		span->head.time = end;
}

/* Passes on the ends of finished children, and counts the unfinished ones. */
static void pass_on_finished(struct span_input *in, struct spans_without_end *unfinished)
{
	struct span_without_end *next = unfinished->items.items,
				*last = next + unfinished->items.count;

	for (size_t i = 0; i < in->spans.count; i++) {
		const struct record_span *span = &in->spans.items[i].record;
		uint64_t parent = unfinished_parent(unfinished, span);
		bool is_unfinished = next < last && next->index == i;

		if (is_unfinished) {
			next->parent = parent;
			next++;
		}
		if (is_unfinished && parent)
			unfinished->items.items[parent - 1].pending++;
		else if (parent)
			pass_on(in, unfinished, parent, span->head.time);
	}
}

/* Starts at spans without unfinished children and continues with each parent that is complete. */
static void pass_on_unfinished(struct span_input *in, struct spans_without_end *unfinished)
{
	for (size_t i = 0; i < unfinished->items.count; i++)
		unfinished->items.items[i].is_leaf = !unfinished->items.items[i].pending;
	for (size_t i = 0; i < unfinished->items.count; i++) {
		const struct span_without_end *at = &unfinished->items.items[i];

		while (at->parent && (at != &unfinished->items.items[i] || at->is_leaf)) {
			struct span_without_end *parent = &unfinished->items.items[at->parent - 1];

			pass_on(in, unfinished, at->parent,
				in->spans.items[at->index].record.head.time);
			if (--parent->pending)
				break;
			at = parent;
		}
	}
}

uint64_t span_find_ends(struct span_input *in)
{
	struct spans_without_end unfinished = { 0 };

	find_unfinished(in, &unfinished);
	if (unfinished.items.count) {
		pass_on_finished(in, &unfinished);
		pass_on_unfinished(in, &unfinished);
	}

	uint64_t count = unfinished.items.count;

	vec_done(&unfinished.items);
	map_done(&unfinished.by_id);
	return count;
}
