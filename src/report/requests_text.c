/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "report/kind.h"
#include "report/requests.h"

enum { TREE_DEPTH = 60, STATES_SHOWN = 5, SHAPES_SHOWN = 10 };

static void put_padded(struct out *out, const char *s, size_t columns)
{
	size_t width = out_escaped(out, s, strlen(s));

	out_fill(out, width < columns ? columns - width : 1, ' ');
}

static void put_time(struct out *out, nsec_t ns)
{
	out_str(out, text_right(format_time(ns), 10).s);
}

/* "N 62 %  R 21 %  D 12 %": the largest first. */
static void put_shares(struct out *out, const nsec_t states[128])
{
	nsec_t left[128], whole = 0;

	memcpy(left, states, sizeof(left));
	left[' '] = 0;
	for (size_t i = 0; i < ARRAY_LEN(left); i++)
		whole += left[i];
	for (int shown = 0; whole && shown < STATES_SHOWN; shown++) {
		size_t most = 0;

		for (size_t i = 1; i < ARRAY_LEN(left); i++)
			if (left[i] > left[most])
				most = i;
		if (left[most] * 200 < whole)
			return;
		out_str(out, shown ? "  " : "");
		out_char(out, most);
		out_char(out, ' ');
		out_u64(out, (left[most] * 100 + whole / 2) / whole);
		out_str(out, " %");
		left[most] = 0;
	}
}

static void put_group(struct out *out, const struct request_group *g)
{
	out_str(out, text_right(format_count(g->count), 9).s);
	put_time(out, g->p50);
	put_time(out, g->p95);
	put_time(out, g->p99);
	out_str(out, "  ");
}

static void put_shapes(struct out *out, const struct request_sum *sum, uint32_t entry)
{
	size_t shown = 0, folded = 0;

	for (size_t i = 0; i < sum->shapes.count; i++) {
		const struct request_group *shape = &sum->shapes.items[i];
		const char *name = strtab_get(sum->strings, shape->name);

		if (shape->entry != entry)
			continue;
		if (shown++ >= SHAPES_SHOWN) {
			folded += shape->count;
			continue;
		}
		put_group(out, shape);
		out_str(out, "  ");
		out_escaped(out, name, strlen(name));
		out_char(out, '\n');
		out_fill(out, 43, ' ');
		put_shares(out, shape->states);
		out_char(out, '\n');
	}
	if (folded) {
		out_str(out, text_right(format_count(folded), 9).s);
		out_str(out, " more, of ");
		out_u64(out, shown - SHAPES_SHOWN);
		out_str(out, " other shapes\n");
	}
}

void requests_summary(struct out *out, const struct request_view *view)
{
	_cleanup_(request_sum_done) struct request_sum sum;

	request_sum_find(view->model, view->requests, view->filter, view->filter_arg, &sum);
	if (!sum.entries.count)
		out_str(out, "no requests\n");
	else
		out_str(out, " requests       p50       p95       p99  where\n");
	for (uint32_t i = 0; i < sum.entries.count; i++) {
		const struct request_group *entry = &sum.entries.items[i];
		const char *name = strtab_get(sum.strings, entry->name);
		const char *service = strtab_get(sum.strings, entry->service);

		put_group(out, entry);
		out_str(out, name);
		out_str(out, "  ");
		out_escaped(out, service, strlen(service));
		out_char(out, '\n');
		put_shapes(out, &sum, i);
	}
	if (sum.unparented) {
		out_str(out, "\n");
		out_str(out, format_count(sum.unparented).s);
		out_str(out, " spans of services belong to requests that could not be told\n");
	}
}

static void put_span(struct out *out, const struct request_view *view, uint32_t place,
		     unsigned depth, nsec_t origin)
{
	static const char *const how[] = { "", "  created for it", "  working for it" };
	const struct request_span *span = &view->requests->spans.items[place];
	const struct thread *thread = model_thread(view->model, span->thread);
	struct request_address address = request_address(view->model, span);
	struct request_use use = { 0 };
	unsigned indent = depth < TREE_DEPTH ? 2 * depth : 2 * TREE_DEPTH;

	request_use_add(view->model, view->requests, place, &use);
	out_str(out, "  +");
	put_time(out, span->start - origin);
	put_time(out, span->end - span->start);
	out_fill(out, 2 + indent, ' ');
	put_padded(out, request_service(view->model, span->thread), indent < 20 ? 20 - indent : 1);
	out_str(out, "[");
	out_u64(out, thread->tid);
	out_str(out, "]");
	out_str(out, how[span->kind]);
	if (address.peer[0]) {
		out_str(out, "  from ");
		out_str(out, address.peer);
	}
	if (span->confidence < 1 && span->parent) {
		out_str(out, "  (");
		out_u64(out, span->confidence * 100 + 0.5f);
		out_str(out, " % sure)");
	}
	if (span->unanswered)
		out_str(out, "  no answer seen");
	out_str(out, "  ");
	put_shares(out, use.states);
	for (size_t i = 0; i < view->count_event_count; i++)
		for (size_t k = 0; k < use.hits.count; k++) {
			const char *name = model_hit_name(view->model, use.hits.items[k].type);

			if (!name || strcmp(name, view->count_events[i]) != 0)
				continue;
			out_str(out, "  ");
			out_escaped(out, name, strlen(name));
			out_str(out, " x");
			out_u64(out, use.hits.items[k].count);
		}
	out_char(out, '\n');
	request_use_done(&use);
}

static void put_tree(struct out *out, const struct request_view *view, uint32_t root)
{
	const struct request_span *spans = view->requests->spans.items;
	unsigned depth = 0;

	for (uint32_t at = root;;) {
		put_span(out, view, at, depth, spans[root].start);
		if (spans[at].first_child) {
			at = spans[at].first_child;
			depth++;
			continue;
		}
		while (at != root && !spans[at].next) {
			at = spans[at].parent;
			depth--;
		}
		if (at == root)
			return;
		at = spans[at].next;
	}
}

void requests_tree(struct out *out, const struct request_view *view)
{
	nsec_t begin = model_begin(view->model);

	for (size_t i = 0; i < view->requests->roots.count; i++) {
		uint32_t root = view->requests->roots.items[i];
		const struct request_span *span = &view->requests->spans.items[root];

		if (!view->filter(view->filter_arg, span))
			continue;
		out_str(out, span->open ? "part of a request" : "request");
		out_str(out, " at ");
		out_str(out, format_time(span->start > begin ? span->start - begin : 0).s);
		out_str(out, ", trace ");
		for (size_t k = 0; k < 8; k++) {
			out_char(out, "0123456789abcdef"[span->trace[k] >> 4]);
			out_char(out, "0123456789abcdef"[span->trace[k] & 15]);
		}
		out_char(out, '\n');
		put_tree(out, view, root);
	}
}
