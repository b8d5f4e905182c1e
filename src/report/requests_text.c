/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/lost.h"
#include "analyse/requests/spans.h"
#include "base/text.h"
#include "event/syscall.h"
#include "report/lost.h"
#include "report/requests.h"

enum {
	TREE_DEPTH = 30,  /* deeper spans are not indented further */
	TREE_STATES = 54, /* column of the states in a tree */
	TREE_STATES_SHOWN = 3,
	SUM_WHERE = 41, /* column of the entry in the summary */
	SUM_STATES_SHOWN = 4,
	SHAPES_SHOWN = 10,
	LINE_WIDTH = 80,
};

static void put_time(struct out *out, nsec_t ns)
{
	out_str(out, text_right(format_time(ns), 10).s);
}

/* "N 62 %  R 21 %  D 12 %": the largest first, none below 0.5 %. */
static void put_shares(struct out *out, const nsec_t states[128], int count)
{
	nsec_t left[128], whole = 0;

	memcpy(left, states, sizeof(left));
	left[' '] = 0;
	for (size_t i = 0; i < ARRAY_LEN(left); i++)
		whole += left[i];
	for (int shown = 0; whole && shown < count; shown++) {
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

/* An event loop works for a request only part of the time that the request takes. */
static void put_worked(struct out *out, const nsec_t states[128], nsec_t duration)
{
	nsec_t worked = 0;

	for (size_t i = 0; i < 128; i++)
		worked += states[i];
	if (worked * 10 >= duration * 9)
		return;
	out_str(out, " of ");
	out_str(out, format_time(worked).s);
}

static bool has_states(const nsec_t states[128])
{
	for (size_t i = 0; i < 128; i++)
		if (states[i] && i != ' ')
			return true;
	return false;
}

static void put_group(struct out *out, const struct request_group *g)
{
	const nsec_t times[] = { g->p50, g->p95, g->p99 };

	out_str(out, text_right(format_count(g->count), 9).s);
	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		if (g->no_reply < g->count)
			put_time(out, times[i]);
		else
			out_str(out, "         -");
	out_str(out, "  ");
}

/* Put a shape after the figures if it fits there, or else below them, in pieces. */
static void put_shape(struct out *out, const char *shape, bool figures)
{
	size_t length = strlen(shape), indent = 6;
	bool fits = SUM_WHERE + 2 + length <= LINE_WIDTH;
	size_t column = fits ? SUM_WHERE + 2 : indent;

	if (!fits && figures)
		out_char(out, '\n');
	out_fill(out, fits && figures ? 2 : column, ' ');
	while (length) {
		size_t piece = strcspn(shape, ",>");

		piece = piece < length ? piece + 1 : length;
		if (column + piece > LINE_WIDTH && column > indent + 2) {
			out_char(out, '\n');
			out_fill(out, indent + 2, ' ');
			column = indent + 2;
		}
		column += out_escaped(out, shape, piece);
		shape += piece;
		length -= piece;
	}
	out_char(out, '\n');
}

/* The only shape of an entry has no figures of its own, and no name if it equals the service. */
static void put_group_shape(struct out *out, const struct request_sum *sum,
			    const struct request_group *shape)
{
	const struct request_group *entry = &sum->entries.items[shape->entry];
	bool alone = shape->count == entry->count;

	if (!alone)
		put_group(out, shape);
	if (!alone || shape->name.i != entry->service.i)
		put_shape(out, strtab_get(sum->strings, shape->name), !alone);
	if (has_states(shape->states)) {
		out_fill(out, SUM_WHERE + 2, ' ');
		put_shares(out, shape->states, SUM_STATES_SHOWN);
		out_char(out, '\n');
	}
}

static void put_shapes(struct out *out, const struct request_sum *sum, uint32_t entry)
{
	size_t shown = 0, folded = 0;

	for (size_t i = 0; i < sum->shapes.count; i++) {
		const struct request_group *shape = &sum->shapes.items[i];

		if (shape->entry != entry)
			continue;
		if (shown++ < SHAPES_SHOWN)
			put_group_shape(out, sum, shape);
		else
			folded += shape->count;
	}
	if (folded) {
		out_str(out, text_right(format_count(folded), 9).s);
		out_str(out, " more, of ");
		out_u64(out, shown - SHAPES_SHOWN);
		out_str(out, shown - SHAPES_SHOWN == 1 ? " other shape\n" : " other shapes\n");
	}
}

static void put_no_reply(struct out *out, const struct request_group *entry)
{
	if (!entry->no_reply)
		return;
	out_str(out, text_right(format_count(entry->no_reply), 9).s);
	out_str(out, " without a reply, not included in the times\n");
}

void requests_summary(struct out *out, const struct request_view *view)
{
	_cleanup_(request_sum_done) struct request_sum sum;

	request_sum_find(view->model, view->requests, view->filter, view->filter_arg, &sum);
	if (!sum.entries.count)
		out_str(out, "no requests\n");
	else
		out_str(out, " requests       p50       p95       p99  entry\n");
	for (uint32_t i = 0; i < sum.entries.count; i++) {
		const struct request_group *entry = &sum.entries.items[i];
		const char *service = strtab_get(sum.strings, entry->service);

		put_group(out, entry);
		out_str(out, strtab_get(sum.strings, entry->name));
		out_str(out, "  ");
		out_escaped(out, service, strlen(service));
		out_char(out, '\n');
		put_no_reply(out, entry);
		put_shapes(out, &sum, i);
	}
	if (sum.unparented) {
		out_str(out, "\n");
		out_str(out, format_count(sum.unparented).s);
		out_str(out, sum.unparented == 1 ? " span has an unknown parent\n"
						 : " spans have an unknown parent\n");
	}
}

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

static void put_span(struct out *out, const struct request_view *view, uint32_t number,
		     unsigned depth, nsec_t origin)
{
	const struct request_span *span = &view->requests->spans.items[number];
	struct request_use use = { 0 };
	size_t column = 23 + 2 * (depth < TREE_DEPTH ? depth : TREE_DEPTH);
	nsec_t since = span->start > origin ? span->start - origin : 0;
	struct text start;

	snprintf(start.s, sizeof(start.s), "+%.24s", format_time(since).s);
	out_str(out, text_right(start, 11).s);
	put_time(out, span->end - span->start);
	out_fill(out, column - 21, ' ');
	column += put_handler(out, view, span);
	request_use_add(view->model, view->requests, number, &use);
	if (has_states(use.states)) {
		out_fill(out, column + 2 < TREE_STATES ? TREE_STATES - column : 2, ' ');
		put_shares(out, use.states, TREE_STATES_SHOWN);
		put_worked(out, use.states, span->end - span->start);
	}
	if (span->confidence < 1 && span->parent) {
		out_str(out, "  (");
		out_u64(out, span->confidence * 100 + 0.5f);
		out_str(out, " % confidence)");
	}
	if (span->no_reply)
		out_str(out, "  no reply");
	if (lost_of_request_span(view->model, span).losses)
		out_str(out, "  records lost");
	put_counts(out, view, &use);
	out_char(out, '\n');
	request_use_done(&use);
}

static void put_tree(struct out *out, const struct request_view *view, uint32_t root)
{
	const struct request_span *spans = view->requests->spans.items;
	unsigned depth = 0;

	for (uint32_t at = root; at; at = requests_next(view->requests, root, at, &depth))
		put_span(out, view, at, depth, spans[root].start);
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
