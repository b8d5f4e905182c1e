/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/span_path.h"

/* A child, clipped to its parent. */
struct path_child {
	span_id span;
	nsec_t start, end;
};

/*
 * A span on the current branch, and how far back in time it is done.  Times on the path are
 * times of the span minus a shift, which is usually 0.
 */
struct span_visit {
	span_id span;
	nsec_t start, at;
	nsec_t shift;
	nsec_t limit;  /* start of the child that was waited for last, in time of the span */
	nsec_t length; /* of the part of the span on the path, ns */
	size_t first;  /* index of its first child in the common list */
	size_t next;   /* index of its first child not visited yet */
};

struct span_path_search {
	const struct span_set *spans;
	VEC(struct path_child) children; /* of the spans on the branch, last end first */
	VEC(struct span_visit) visits; /* from the root down; recursion could overflow the stack */
	struct span_path *path;
};

void span_path_done(struct span_path *path)
{
	vec_done(&path->items);
}

static int ends_later(const void *a, const void *b)
{
	const struct path_child *x = a, *y = b;

	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	if (x->start != y->start)
		return x->start > y->start ? -1 : 1;
	return x->span.i > y->span.i ? -1 : x->span.i < y->span.i;
}

static void enter(struct span_path_search *s, span_id id, nsec_t path_start, nsec_t path_end,
		  nsec_t shift)
{
	nsec_t start = path_start + shift, end = path_end + shift;
	size_t first = s->children.count;

	for (span_id c = span_set_at(s->spans, id)->first_child; c.i;
	     c = span_set_at(s->spans, c)->next) {
		const struct span *span = span_set_at(s->spans, c);
		nsec_t begin = span_arrival(span);
		struct path_child child = { c, begin > start ? begin : start,
					    span->end < end ? span->end : end };

		if (!(span->flags & SPAN_FOLLOWS) && child.start < child.end)
			*vec_push(&s->children) = child;
	}
	if (s->children.count > first)
		qsort(s->children.items + first, s->children.count - first,
		      sizeof(struct path_child), ends_later);
	*vec_push(&s->visits) = (struct span_visit){ .span = id,
						     .start = path_start,
						     .at = path_end,
						     .shift = shift,
						     .limit = end,
						     .length = end - start,
						     .first = first,
						     .next = first };
}

static void add_section(struct span_path_search *s, span_id span, nsec_t start, nsec_t end)
{
	if (start < end)
		*vec_push(&s->path->items) = (struct span_section){ span, start, end };
}

/* Whether a child had ended when the next one began, within the accuracy of clocks. */
static bool had_ended(const struct span_visit *v, const struct path_child *child)
{
	nsec_t length = child->end - child->start, overlap;

	if (child->end <= v->limit)
		return true;
	overlap = child->end - v->limit;
	return overlap <= v->length / 100 && overlap <= length / 10;
}

/* One step back in time within the innermost span of the branch. */
static void advance(struct span_path_search *s)
{
	struct span_visit *v = &s->visits.items[s->visits.count - 1];

	while (v->next < s->children.count && !had_ended(v, &s->children.items[v->next]))
		v->next++; /* continued during a later child: the parent did not wait for it */
	if (v->next == s->children.count) {
		add_section(s, v->span, v->start, v->at);
		s->children.count = v->first;
		s->visits.count--;
		return;
	}

	struct path_child child = s->children.items[v->next++];
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
	struct span_path_search s = { .spans = spans, .path = ret };
	const struct span *root = span_set_at(spans, span);

	enter(&s, span, span_arrival(root), root->end, 0);
	while (s.visits.count)
		advance(&s);
	vec_done(&s.children);
	vec_done(&s.visits);
}
