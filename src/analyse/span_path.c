/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/span_path.h"

/* A child, clipped to its parent. */
struct child {
	span_id span;
	nsec_t start, end;
};

/*
 * A span on the way, and how far back in time it is accounted for.  Times on
 * the path are those of the spans less a shift, mostly 0.
 */
struct visit {
	span_id span;
	nsec_t start, at;
	nsec_t shift;
	nsec_t limit;  /* of spans: when the last child that was waited for began */
	nsec_t length; /* of the span, as far as it is on the path */
	size_t first,
		next; /* its children in the common list: all, and those yet to be looked at */
};

struct search {
	const struct span_set *spans;
	VEC(struct child) children; /* of the spans on the way, each one's from last to end first */
	VEC(struct visit) visits;   /* from the root down; traces may be deeper than our stack */
	struct span_path *path;
};

void span_path_done(struct span_path *path)
{
	vec_done(&path->items);
}

static int ends_later(const void *a, const void *b)
{
	const struct child *x = a, *y = b;

	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	if (x->start != y->start)
		return x->start > y->start ? -1 : 1;
	return x->span.i > y->span.i ? -1 : x->span.i < y->span.i;
}

static void enter(struct search *s, span_id id, nsec_t path_start, nsec_t path_end, nsec_t shift)
{
	nsec_t start = path_start + shift, end = path_end + shift;
	size_t first = s->children.count;

	for (span_id c = span_set_at(s->spans, id)->first_child; c.i;
	     c = span_set_at(s->spans, c)->next) {
		const struct span *span = span_set_at(s->spans, c);
		struct child child = { c, span->start > start ? span->start : start,
				       span->end < end ? span->end : end };

		if (!(span->flags & SPAN_FOLLOWS) && child.start < child.end)
			*vec_push(&s->children) = child;
	}
	if (s->children.count > first)
		qsort(s->children.items + first, s->children.count - first, sizeof(struct child),
		      ends_later);
	*vec_push(&s->visits) = (struct visit){ .span = id,
						.start = path_start,
						.at = path_end,
						.shift = shift,
						.limit = end,
						.length = end - start,
						.first = first,
						.next = first };
}

static void add_section(struct search *s, span_id span, nsec_t start, nsec_t end)
{
	if (start < end)
		*vec_push(&s->path->items) = (struct section){ span, start, end };
}

/* Whether a child had ended when the one after it began, as far as clocks can tell. */
static bool had_ended(const struct visit *v, const struct child *child)
{
	nsec_t length = child->end - child->start, overlap;

	if (child->end <= v->limit)
		return true;
	overlap = child->end - v->limit;
	return overlap <= v->length / 100 && overlap <= length / 10;
}

/* One step back in time within the innermost span on the way. */
static void advance(struct search *s)
{
	struct visit *v = &s->visits.items[s->visits.count - 1];

	while (v->next < s->children.count && !had_ended(v, &s->children.items[v->next]))
		v->next++; /* went on while a later one was waited for: nobody waited for it */
	if (v->next == s->children.count) {
		add_section(s, v->span, v->start, v->at);
		s->children.count = v->first;
		s->visits.count--;
		return;
	}

	struct child child = s->children.items[v->next++];
	nsec_t shift = child.end > v->at + v->shift ? child.end - v->at : v->shift;
	nsec_t start = child.start > v->start + shift ? child.start - shift : v->start;
	nsec_t end = child.end > v->start + shift ? child.end - shift : v->start;

	add_section(s, v->span, end, v->at);
	v->limit = child.start;
	v->at = start;
	enter(s, child.span, start, end, shift);
}

void span_path_find(const struct span_set *spans, span_id span, struct span_path *ret)
{
	struct search s = { .spans = spans, .path = ret };
	const struct span *root = span_set_at(spans, span);

	enter(&s, span, root->start, root->end, 0);
	while (s.visits.count)
		advance(&s);
	vec_done(&s.children);
	vec_done(&s.visits);
}
