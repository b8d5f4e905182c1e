/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_end - ends of spans that were not finished when they were reported.
 *
 * Such a span lasted at least until its last child ended, so that is its end.
 * Children may be unfinished, too: each span passes its end on to its parent
 * when all of its own unfinished children have done so.  In a ring of spans none
 * ever does, and their ends stay what they are.
 */
#include "base/map.h"
#include "read/span/input.h"

/* An unfinished span. */
struct open_span {
	uint64_t index;   /* in the list of all spans */
	uint64_t parent;  /* index + 1 of an unfinished parent, or 0 */
	uint64_t waiting; /* unfinished children that have not passed on their ends */
	bool is_leaf;     /* has no unfinished children */
};

struct open_spans {
	VEC(struct open_span) items; /* in the order of all spans */
	struct map by_id;            /* -> index + 1 */
};

static void collect(const struct span_input *in, struct open_spans *open)
{
	for (size_t i = 0; i < in->spans.count; i++) {
		const struct record_span *span = &in->spans.items[i].record;

		if (!(span->flags & SPAN_OPEN) || span->head.time != span->start)
			continue;
		*vec_push(&open->items) = (struct open_span){ .index = i };

		uint64_t *place = map_insert(&open->by_id, span_key_of(span, span->span));

		*place = *place ? *place : open->items.count;
	}
}

static uint64_t open_parent(const struct open_spans *open, const struct record_span *span)
{
	const uint64_t *found = map_find(&open->by_id, span_key_of(span, span->parent));

	return found ? *found : 0;
}

static void pass_on(struct span_input *in, const struct open_spans *open, uint64_t parent,
		    nsec_t end)
{
	struct record_span *span = &in->spans.items[open->items.items[parent - 1].index].record;

	if (end > span->head.time)
		span->head.time = end;
}

/* The ends of finished children, and the number of the others. */
static void begin(struct span_input *in, struct open_spans *open)
{
	struct open_span *next = open->items.items, *last = next + open->items.count;

	for (size_t i = 0; i < in->spans.count; i++) {
		const struct record_span *span = &in->spans.items[i].record;
		uint64_t parent = open_parent(open, span);
		bool is_own = next < last && next->index == i;

		if (is_own)
			next++->parent = parent;
		if (is_own && parent)
			open->items.items[parent - 1].waiting++;
		else if (parent)
			pass_on(in, open, parent, span->head.time);
	}
}

static void climb(struct span_input *in, struct open_spans *open)
{
	for (size_t i = 0; i < open->items.count; i++)
		open->items.items[i].is_leaf = !open->items.items[i].waiting;
	for (size_t i = 0; i < open->items.count; i++) {
		const struct open_span *at = &open->items.items[i];

		while (at->parent && (at != &open->items.items[i] || at->is_leaf)) {
			struct open_span *parent = &open->items.items[at->parent - 1];

			pass_on(in, open, at->parent, in->spans.items[at->index].record.head.time);
			if (--parent->waiting)
				break;
			at = parent;
		}
	}
}

uint64_t span_find_ends(struct span_input *in)
{
	struct open_spans open = { 0 };

	collect(in, &open);
	if (open.items.count) {
		begin(in, &open);
		climb(in, &open);
	}

	uint64_t count = open.items.count;

	vec_done(&open.items);
	map_done(&open.by_id);
	return count;
}
