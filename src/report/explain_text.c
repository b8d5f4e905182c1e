/* SPDX-License-Identifier: Apache-2.0 */
#include "report/explain.h"

#include <stdio.h>
#include <string.h>

#include "analyse/lost.h"
#include "base/text.h"
#include "base/view.h"
#include "report/lost.h"
#include "report/phrase.h"
#include "report/state_style.h"

enum { TIME_COLUMNS = 9, INDENT = 3, DEPTH_SHOWN = 12 };

struct page {
	struct out *out;
	const struct style *style;
	const struct model *model;
	const struct span_set *spans;
	const struct account *account;
};

static void put_node(const struct page *page, const struct node *node, size_t depth,
		     thread_id above)
{
	size_t indent = 2 + INDENT * depth;
	struct phrase words = phrase_node(page->spans, page->account, node);
	struct phrase line = { "" };
	char letter[2] = { node->state == STATE_GAP ? ' ' : node->state, '\0' };

	out_fill(page->out, indent, ' ');
	out_str(page->out, text_right(format_time(node->time), TIME_COLUMNS).s);
	out_str(page->out, "  ");
	if (node->state) {
		put_coloured(page->out, page->style, state_colour(node->state), letter);
		out_str(page->out, "  ");
		indent += 3;
	}
	if (node->state && node->thread.i && node->thread.i != above.i)
		snprintf(line.s, sizeof(line.s), "%.100s: %.400s",
			 phrase_node_thread(page->model, node).s, words.s);
	else
		line = words;
	put_wrapped(page->out, page->style->columns, line.s, indent + TIME_COLUMNS + 2);
}

/* Nodes that are too short for a line of their own. */
struct folded {
	size_t count;
	nsec_t time, states[128];
};

static void fold(struct folded *f, const struct node *node)
{
	f->count++;
	f->time += node->time;
	f->states[node->state & 127] += node->time;
}

/* If the folded nodes take much time together, such as reads of many files, name their main state.
 */
static void put_folded(const struct page *page, const struct folded *f, size_t depth)
{
	nsec_t whole = page->account->nodes.items[0].time;
	size_t most = 0;
	char words[64];

	if (!f->count)
		return;
	for (size_t i = '?'; i < ARRAY_LEN(f->states); i++)
		if (f->states[i] > f->states[most])
			most = i;
	out_fill(page->out, 2 + INDENT * depth, ' ');
	out_str(page->out, text_right(format_time(f->time), TIME_COLUMNS).s);
	snprintf(words, sizeof(words), "     %s more below 1 %%", format_count(f->count).s);
	out_str(page->out, words);
	if (most && f->states[most] * 20 >= whole) {
		snprintf(words, sizeof(words), ", %c %u %% of it", (char)most,
			 explain_percent(f->states[most], f->time));
		out_str(page->out, words);
	}
	out_char(page->out, '\n');
}

static void put_children(const struct page *page, uint32_t parent, size_t depth)
{
	const struct node *nodes = page->account->nodes.items;
	struct folded folded = { 0 };

	for (uint32_t i = nodes[parent].child; i; i = nodes[i].next) {
		if (nodes[i].time * 100 < nodes[0].time || depth >= DEPTH_SHOWN) {
			fold(&folded, &nodes[i]);
			continue;
		}
		put_node(page, &nodes[i], depth, nodes[parent].thread);
		put_children(page, i, depth + 1);
	}
	put_folded(page, &folded, depth);
}

/* A trace ID without leading zeros, which --trace does not need. */
static struct view short_id(const struct span *span)
{
	size_t zeros = 0;

	while (zeros < 15 && !span->trace[zeros])
		zeros++;
	return (struct view){ (const char *)span->trace + zeros, 16 - zeros };
}

/* The length of the shortest unique prefix of an ID, in bytes; at least four. */
static size_t unique_prefix(const struct span_set *spans, struct view id)
{
	size_t bytes = id.len < 4 ? id.len : 4;

	for (uint32_t i = 1; i < span_set_count(spans); i++) {
		struct view other = short_id(span_set_at(spans, (span_id){ i }));
		size_t same = 0;

		while (same < id.len && same < other.len && id.s[same] == other.s[same])
			same++;
		if (same >= bytes && same < id.len)
			bytes = same + 1;
	}
	return bytes;
}

struct phrase explain_trace_id(const struct span_set *spans, const struct span *span)
{
	struct view id = short_id(span);
	size_t bytes = unique_prefix(spans, id);
	struct phrase p = { "" };

	for (size_t i = 0; i < bytes; i++)
		snprintf(p.s + 2 * i, sizeof(p.s) - 2 * i, "%02x", (uint8_t)id.s[i]);
	return p;
}

static void put_title(const struct page *page, const struct latency *usual)
{
	const struct account *a = page->account;
	nsec_t length = a->end - a->start;
	struct phrase p = { "" };

	if (a->span.i) {
		const struct span *span = span_set_at(page->spans, a->span);

		snprintf(p.s, sizeof(p.s), "%.150s   %.100s   %s",
			 span_set_string(page->spans, span->operation),
			 span_set_string(page->spans, span->service), format_time(length).s);
		if (usual)
			snprintf(p.s + strlen(p.s), sizeof(p.s) - strlen(p.s), "   %.100s",
				 explain_latency(usual).s);
		snprintf(p.s + strlen(p.s), sizeof(p.s) - strlen(p.s), "   trace %.40s",
			 explain_trace_id(page->spans, span).s);
	} else {
		snprintf(p.s, sizeof(p.s), "%.200s   %s", phrase_thread(page->model, a->thread).s,
			 format_time(length).s);
	}
	out_escaped(page->out, p.s, strlen(p.s));
	out_char(page->out, '\n');
}

static void put_resources(const struct page *page)
{
	const struct resources *u = &page->account->used;
	uint64_t switches = u->blocked + u->preempted;
	struct phrase p;

	snprintf(p.s, sizeof(p.s), "%s CPU time, %s context %s (%s involuntary)",
		 format_time(u->cpu).s, format_count(switches).s,
		 switches == 1 ? "switch" : "switches", format_count(u->preempted).s);
	if (u->sends + u->receives)
		snprintf(p.s + strlen(p.s), sizeof(p.s) - strlen(p.s), ", %s sent, %s received",
			 format_size(u->sent).s, format_size(u->received).s);
	if (u->disk_reads + u->disk_writes)
		snprintf(p.s + strlen(p.s), sizeof(p.s) - strlen(p.s),
			 ", %s read from and %s written to disk", format_size(u->disk_read).s,
			 format_size(u->disk_written).s);
	if (u->calls)
		snprintf(p.s + strlen(p.s), sizeof(p.s) - strlen(p.s), ", %s system calls",
			 format_count(u->calls).s);
	for (size_t i = 0; i < page->account->probe_events.count; i++) {
		const char *name =
			model_probe_name(page->model, page->account->probe_events.items[i].type);

		snprintf(p.s + strlen(p.s), sizeof(p.s) - strlen(p.s), ", %s %.60s",
			 format_count(page->account->probe_events.items[i].count).s,
			 name ? name : "unknown events");
	}
	out_str(page->out, "used: ");
	put_wrapped(page->out, page->style->columns, p.s, 6);
}

static void put_lost_in_range(struct out *out, struct lost lost)
{
	if (!lost.losses)
		return;
	out_str(out, format_lost(lost).s);
	out_str(out, " in this time: the result can be incomplete\n");
}

void explain_text(struct out *out, const struct style *style, const struct span_set *spans,
		  const struct account *account, const struct latency *usual)
{
	struct page page = { out, style, spans->model, spans, account };

	put_title(&page, usual);
	put_children(&page, 0, 0);
	if (account->used.cpu || account->used.blocked)
		put_resources(&page);
	put_lost_in_range(out, account->lost);
}

/* The thread of a step, or its span if the thread is unknown. */
static struct phrase path_thread(const struct span_set *spans, const struct step *step)
{
	const struct span *span = span_set_at(spans, step->span);
	struct phrase p;

	if (step->thread.i || !step->span.i)
		return phrase_thread(spans->model, step->thread);
	snprintf(p.s, sizeof(p.s), "%.100s %.200s", span_set_string(spans, span->service),
		 span_set_string(spans, span->operation));
	return p;
}

/* A step as one line. */
static struct phrase path_line(const struct span_set *spans, const struct step *step)
{
	const struct model *model = spans->model;
	const struct cause *cause = account_step_cause(model, step);
	struct lost lost = lost_of_step(spans, step);
	struct phrase line;

	snprintf(line.s, sizeof(line.s), "%.90s: %.380s%s%.30s", path_thread(spans, step).s,
		 phrase_path_step(spans, step, cause).s, lost.losses ? ", " : "",
		 lost.losses ? format_lost(lost).s : "");
	return line;
}

void path_text(struct out *out, const struct style *style, const struct span_set *spans,
	       const struct path *path, nsec_t origin)
{
	nsec_t from = UINT64_MAX, to = 0;

	for (size_t i = 0; i < path->steps.count; i++) {
		const struct step *step = &path->steps.items[i];
		size_t indent = step->depth < 8 ? 2 * step->depth : 16;
		char letter[2] = { step->state, '\0' };
		char start[32];

		from = step->start < from ? step->start : from;
		to = step->end > to ? step->end : to;
		snprintf(start, sizeof(start), "%14.6f ", (double)(step->start - origin) / 1e6);
		out_str(out, start);
		out_fill(out, indent, ' ');
		out_str(out, text_right(format_time(step->end - step->start), TIME_COLUMNS).s);
		out_str(out, step->is_leaf ? "  " : " (");
		put_coloured(out, style, state_colour(step->state), letter);
		out_str(out, step->is_leaf ? "  " : ") ");
		put_wrapped(out, style->columns, path_line(spans, step).s,
			    strlen(start) + indent + TIME_COLUMNS + 5);
	}
	put_lost_in_range(out, lost_of_path(spans, path, from, to));
}
