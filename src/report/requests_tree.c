/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "analyse/lost.h"
#include "analyse/requests/spans.h"
#include "base/text.h"
#include "event/kind.h"
#include "event/syscall.h"
#include "report/explain.h"
#include "report/lost.h"
#include "report/requests.h"

enum {
	TREE_DEPTH = 30,  /* deeper spans are not indented further */
	TREE_STATES = 54, /* column of the states */
	TREE_STATES_SHOWN = 3,
	SIBLINGS_GROUPED = 3, /* fewer equal siblings have a line each */
};

/* The counts of the selected events and system calls that are not 0. */
static void put_counts(struct out *out, const struct request_view *view,
		       const struct request_use *use)
{
	for (size_t i = 0; i < view->counted_count; i++) {
		const char *wanted = view->counted[i];
		uint64_t count = 0;

		for (size_t k = 0; k < use->probe_events.count; k++) {
			const char *name =
				model_probe_name(view->model, use->probe_events.items[k].type);

			if (name && strcmp(name, wanted) == 0)
				count += use->probe_events.items[k].count;
		}
		for (size_t k = 0; k < use->calls.count; k++)
			if (use->calls.items[k].nr == syscall_number(wanted))
				count += use->calls.items[k].count;
		if (!count)
			continue;
		out_str(out, "  ");
		out_escaped(out, wanted, strlen(wanted));
		out_str(out, " x");
		out_u64(out, count);
	}
}

/* "10.0.0.5:5432, not recorded"; returns the width. */
static size_t put_callee(struct out *out, const struct request_view *view,
			 const struct request_span *span)
{
	struct request_address address = request_address(view->model, span);
	char text[96];
	int length = snprintf(text, sizeof(text), "%s, not recorded",
			      address.peer[0] ? address.peer : "unknown peer");

	out_bytes(out, text, length);
	return length;
}

/* "ledger (20264) at :48179", or "ledger (20264), by fork"; returns the width. */
static size_t put_handler(struct out *out, const struct request_view *view,
			  const struct request_span *span)
{
	static const char *const origins[] = {
		[REQUEST_NETWORK] = "",
		[REQUEST_FORK] = ", by fork",
		[REQUEST_HANDOFF] = ", by handoff",
		[REQUEST_CALL] = "",
	};
	const struct thread *thread = model_thread(view->model, span->thread);
	const char *service = request_service(view->model, span->thread);
	struct request_address address = request_address(view->model, span);
	const char *port = span->parent ? strrchr(address.local, ':')
					: NULL; /* the title of a root has the address */
	char rest[64];

	if (span->kind == REQUEST_CALL)
		return put_callee(out, view, span);

	int length = snprintf(rest, sizeof(rest), " (%u)%s%s%.6s", thread->tid, origins[span->kind],
			      port ? " at " : "", port ?: "");
	size_t width = out_escaped(out, service, strlen(service));

	out_bytes(out, rest, length);
	return width + length;
}

/* A request with the time of its critical path, by span and state. */
struct request_tree {
	const struct request_view *view;
	uint32_t root;
	nsec_t whole;      /* latency of the request */
	struct map states; /* see path_states_by_span() */
};

/* Adds the part of the critical path in a span. */
static void add_states(const struct request_tree *tree, uint32_t number, nsec_t states[128])
{
	const struct request_span *span = &tree->view->requests->spans.items[number];
	span_id id = span_set_find(tree->view->spans, span->trace, span->id);

	for (const char *letter = state_letters; *letter && id.i; letter++) {
		const uint64_t *time = map_find(&tree->states, (uint64_t)id.i << 8 | *letter);

		states[(int)*letter] += time ? *time : 0;
	}
}

/* "D 55 %  R 20 %": shares of the request's latency, the largest first, none below 0.5 %. */
static void put_shares(struct out *out, nsec_t whole, nsec_t states[128], size_t column)
{
	for (int shown = 0; shown < TREE_STATES_SHOWN; shown++) {
		size_t most = 0;

		for (size_t i = 1; i < 128; i++)
			if (states[i] > states[most])
				most = i;
		if (!states[most] || states[most] < whole / 200)
			return;
		if (!shown)
			out_fill(out, column + 2 < TREE_STATES ? TREE_STATES - column : 2, ' ');
		out_str(out, shown ? "  " : "");
		out_char(out, most);
		out_char(out, ' ');
		out_u64(out, explain_percent(states[most], whole));
		out_str(out, " %");
		states[most] = 0;
	}
}

static void put_notes(struct out *out, const struct request_tree *tree, uint32_t number)
{
	const struct request_span *span = &tree->view->requests->spans.items[number];

	if (span->confidence < 1 && span->parent) {
		out_str(out, "  (");
		out_u64(out, span->confidence * 100 + 0.5f);
		out_str(out, " % confidence)");
	}
	if (span->no_reply)
		out_str(out, "  no reply");
	if (lost_of_request_span(tree->view->model, span).losses)
		out_str(out, "  records lost");
}

/* Whether two siblings are calls of the same kind without calls of their own. */
static bool is_equal(const struct request_tree *tree, uint32_t a, uint32_t b)
{
	const struct request_view *view = tree->view;
	const struct request_span *x = &view->requests->spans.items[a],
				  *y = &view->requests->spans.items[b];
	struct request_address ax, ay;

	if (x->first_child || y->first_child || x->kind != y->kind || x->kind == REQUEST_HANDOFF ||
	    strcmp(request_service(view->model, x->thread),
		   request_service(view->model, y->thread)) != 0)
		return false;
	ax = request_address(view->model, x);
	ay = request_address(view->model, y);
	return strcmp(x->kind == REQUEST_CALL ? ax.peer : ax.local,
		      x->kind == REQUEST_CALL ? ay.peer : ay.local) == 0;
}

/* Equal siblings in a row. */
struct equal_calls {
	uint32_t first, last;
	size_t count;
	nsec_t time;      /* sum of their durations */
	bool is_sequence; /* one after another */
};

static struct equal_calls find_siblings(const struct request_tree *tree, uint32_t first)
{
	const struct request_span *spans = tree->view->requests->spans.items;
	struct equal_calls s = { first, first, 1, spans[first].end - spans[first].start, true };

	while (first != tree->root && spans[s.last].next &&
	       is_equal(tree, first, spans[s.last].next)) {
		uint32_t next = spans[s.last].next;

		s.is_sequence &= spans[next].start >= spans[s.last].end;
		s.time += spans[next].end - spans[next].start;
		s.last = next;
		s.count++;
	}
	if (s.count < SIBLINGS_GROUPED)
		return (struct equal_calls){ first, first, 1, 0, false };
	return s;
}

static void put_times(struct out *out, const struct request_tree *tree, const struct equal_calls *s)
{
	const struct request_span *spans = tree->view->requests->spans.items;
	nsec_t origin = spans[tree->root].start, start = spans[s->first].start;
	struct text since;

	snprintf(since.s, sizeof(since.s), "+%.24s",
		 format_time(start > origin ? start - origin : 0).s);
	out_str(out, text_right(since, 11).s);
	out_str(out, text_right(format_time(spans[s->last].end - start), 10).s);
}

/* "153 × " */
static size_t put_number(struct out *out, const struct equal_calls *s)
{
	struct text count = format_count(s->count);

	if (s->count == 1)
		return 0;
	out_str(out, count.s);
	out_str(out, " × ");
	return strlen(count.s) + 3;
}

/* ", one after another, 1.2 ms each" */
static size_t put_each(struct out *out, const struct equal_calls *s)
{
	struct phrase p;

	if (s->count == 1)
		return 0;
	snprintf(p.s, sizeof(p.s), ", %s%s each", s->is_sequence ? "one after another, " : "",
		 format_time(s->time / s->count).s);
	out_str(out, p.s);
	return strlen(p.s);
}

static void put_spans(struct out *out, const struct request_tree *tree, const struct equal_calls *s,
		      unsigned int depth)
{
	const struct request_view *view = tree->view;
	size_t column = 23 + 2 * (depth < TREE_DEPTH ? depth : TREE_DEPTH);
	struct request_use use = { 0 };
	nsec_t states[128] = { 0 };

	put_times(out, tree, s);
	out_fill(out, column - 21, ' ');
	column += put_number(out, s);
	column += put_handler(out, view, &view->requests->spans.items[s->first]);
	column += put_each(out, s);
	for (uint32_t at = s->first;; at = view->requests->spans.items[at].next) {
		add_states(tree, at, states);
		if (view->counted_count)
			request_use_add(view->model, view->requests, at, &use);
		if (at == s->last)
			break;
	}
	put_shares(out, tree->whole, states, column);
	put_notes(out, tree, s->first);
	put_counts(out, view, &use);
	out_char(out, '\n');
	request_use_done(&use);
}

static void put_tree(struct out *out, const struct request_view *view, uint32_t root)
{
	const struct request_span *span = &view->requests->spans.items[root];
	span_id id = span_set_find(view->spans, span->trace, span->id);
	struct request_tree tree = { .view = view, .root = root, .whole = span->end - span->start };
	unsigned int depth = 0;

	if (id.i)
		path_states_by_span(view->spans, id, &tree.states);
	for (uint32_t at = root; at; at = requests_next(view->requests, root, at, &depth)) {
		struct equal_calls s = find_siblings(&tree, at);

		put_spans(out, &tree, &s, depth);
		at = s.last;
	}
	map_done(&tree.states);
}

/* The same as in explain: its --trace accepts these digits. */
static void put_title(struct out *out, const struct request_view *view, uint32_t number)
{
	const struct request_span *root = &view->requests->spans.items[number];
	struct lost lost = lost_of_request(view->model, view->requests, number);
	struct request_address address = request_address(view->model, root);
	const char *service = request_service(view->model, root->thread);
	nsec_t begin = model_begin(view->model);

	out_str(out, address.local[0] ? address.local : request_kind_name(root->kind));
	out_str(out, "   ");
	out_escaped(out, service, strlen(service));
	out_str(out, "   ");
	out_str(out, format_time(root->end - root->start).s);
	out_str(out, " at ");
	out_str(out, format_time(root->start > begin ? root->start - begin : 0).s);
	out_str(out, "   trace ");
	for (size_t k = 0; k < 4; k++) {
		out_char(out, "0123456789abcdef"[root->trace[k] >> 4]);
		out_char(out, "0123456789abcdef"[root->trace[k] & 15]);
	}
	out_str(out, root->parent_unknown ? "   parent unknown" : "");
	if (lost.losses) {
		out_str(out, "   ");
		out_str(out, format_lost(lost).s);
	}
	out_char(out, '\n');
}

void requests_tree(struct out *out, const struct request_view *view)
{
	if (!view->root_count)
		out_str(out, "no requests\n");
	for (size_t i = 0; i < view->root_count; i++) {
		if (i)
			out_char(out, '\n');
		put_title(out, view, view->roots[i]);
		put_tree(out, view, view->roots[i]);
	}
}
