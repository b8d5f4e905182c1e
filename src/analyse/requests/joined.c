/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/requests/joined.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

enum {
	SIBLINGS = 8,  /* children of a span that are compared, by their start */
	ANCESTORS = 64 /* of a request that are examined */
};

struct linking {
	struct span_set *set;
	const struct requests *requests;
	const struct span_join *join;
	const span_id *ids;
	VEC(span_id) children; /* recorded spans with a parent, by parent, then by start */
	span_id *traces;       /* by root of requests: a recorded span of its tree; or none */
};

static bool is_joined(const struct linking *l, uint32_t request)
{
	return l->join->spans.items[request].span.i;
}

static int by_parent(const void *a, const void *b, void *arg)
{
	const span_id *p = a, *q = b;
	const struct span *x = span_set_at(arg, *p), *y = span_set_at(arg, *q);

	if (x->parent.i != y->parent.i)
		return x->parent.i < y->parent.i ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return p->i < q->i ? -1 : p->i > q->i;
}

static void sort_children(struct linking *l)
{
	for (uint32_t i = 1; i < model_span_count(l->set->model); i++)
		if (model_span(l->set->model, (span_id){ i })->parent.i)
			*vec_push(&l->children) = (span_id){ i };
	if (l->children.count)
		qsort_r(l->children.items, l->children.count, sizeof(span_id), by_parent, l->set);
}

/*
 * Whether the time of a span contains another, within the accuracy of clocks.  What begins after
 * its end, such as the commit after a query, is not a part of it.
 */
static bool contains(const struct span *span, nsec_t start, nsec_t end)
{
	nsec_t slack = 50000 + (span->end - span->start) / 20;

	return start < span->end && end > span->start &&
	       (start >= span->start || span->start - start <= slack) &&
	       (end <= span->end || end - span->end <= slack);
}

/* The only child of a recorded span that contains this time; none if there are several. */
static span_id child_around(const struct linking *l, span_id parent, nsec_t start, nsec_t end)
{
	const struct model *model = l->set->model;
	const span_id *children = l->children.items;
	span_id found = { 0 };
	size_t after =
		partition_point(l->children.count, i,
				model_span(model, children[i])->parent.i < parent.i ||
					(model_span(model, children[i])->parent.i == parent.i &&
					 model_span(model, children[i])->start <= end));

	for (size_t n = 0; n < SIBLINGS && after > n; n++) {
		const struct span *child = model_span(model, children[after - 1 - n]);

		if (child->parent.i != parent.i)
			break;
		if (!contains(child, start, end))
			continue;
		if (found.i)
			return (span_id){ 0 };
		found = children[after - 1 - n];
	}
	return found;
}

/* The innermost recorded span at or below `top` that contains this time. */
static span_id innermost(const struct linking *l, span_id top, nsec_t start, nsec_t end)
{
	span_id next;

	for (size_t depth = 0; depth < ANCESTORS; depth++, top = next) {
		next = child_around(l, top, start, end);
		if (!next.i)
			break;
	}
	return top;
}

static void complete(struct linking *l, uint32_t index)
{
	const struct request_span *r = &l->requests->spans.items[index];
	const struct thread *thread = model_thread(l->set->model, r->thread);
	struct span *span = span_set_edit(l->set, l->ids[index]);
	nsec_t read = r->read ? r->read : r->start;

	if (!span->thread.i) {
		span->thread = r->thread;
		span->tid = thread->tid;
		span->pid = thread->pid;
		span->host = thread->host;
	}
	span->socket = r->socket;
	/* the span of an SDK begins after the read, an exported request at its arrival */
	span->read = read < span->start || span->source == SPAN_INFERRED ? read : span->start;
	span->arrival = r->arrival_unknown || r->start > span->read ? span->read : r->start;
	span->end = r->end > span->end ? r->end : span->end;
	span->sent = r->sent && r->sent < span->end ? r->sent : span->end;
	span->held = r->held;
	span->flags |= r->before_accept ? SPAN_ACCEPT_QUEUE : 0;
	span->join_confidence = l->join->spans.items[index].confidence;
}

static void set_parent(struct linking *l, span_id id, span_id parent)
{
	struct span *span = span_set_edit(l->set, id);

	span->parent = parent;
	memcpy(span->parent_id, span_set_at(l->set, parent)->id, sizeof(span->parent_id));
}

/* Whether an unrecorded service, such as a proxy, is between a span and its recorded parent. */
static bool is_proxied(const struct linking *l, uint32_t parent, const struct span *span)
{
	const struct request_span *requests = l->requests->spans.items;

	if (!parent || is_joined(l, parent))
		return false;
	for (size_t i = 0; i < ANCESTORS && parent; i++, parent = requests[parent].parent)
		if (is_joined(l, parent))
			return memcmp(span_set_at(l->set, l->ids[parent])->trace, span->trace,
				      sizeof(span->trace)) == 0;
	return false;
}

static void link_request(struct linking *l, uint32_t index)
{
	const struct request_span *r = &l->requests->spans.items[index];
	struct span *span = span_set_edit(l->set, l->ids[index]);
	span_id top = l->ids[r->parent];
	bool has_recorded_parent = is_joined(l, index) && span->parent.i;

	if (!is_joined(l, index) && l->traces[r->root].i)
		memcpy(span->trace, span_set_at(l->set, l->traces[r->root])->trace,
		       sizeof(span->trace));
	if (!r->parent || (has_recorded_parent && !is_proxied(l, r->parent, span)))
		return;
	if (is_joined(l, r->parent))
		top = innermost(l, top, r->start, r->end);
	if (top.i != l->ids[index].i)
		set_parent(l, l->ids[index], top);
}

void joined_spans_link(struct span_set *set, const struct requests *requests,
		       const struct span_join *join, const span_id *ids)
{
	size_t count = requests->spans.count;
	_cleanup_(freep) span_id *traces = must_alloc(count * sizeof(*traces));
	struct linking l = { set, requests, join, ids, .traces = traces };

	span_set_unite(set);
	sort_children(&l);
	for (size_t i = 1; i < count; i++)
		if (is_joined(&l, i)) {
			complete(&l, i);
			if (!traces[requests->spans.items[i].root].i)
				traces[requests->spans.items[i].root] = ids[i];
		}
	for (size_t i = 1; i < count; i++)
		link_request(&l, i);
	span_set_relink(set);
	vec_done(&l.children);
}
