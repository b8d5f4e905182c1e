/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/explain.h"
#include "report/requests.h"

enum {
	SUM_WHERE = 41, /* column of the entry */
	SUM_INDENT = 6, /* column of what is below it */
	SHAPES_SHOWN = 10,
	CAUSES_SHOWN = 3,
};

static void put_time(struct out *out, nsec_t ns)
{
	out_str(out, text_right(format_time(ns), 10).s);
}

static void put_group(struct out *out, const struct request_group *g)
{
	const nsec_t times[] = { g->latency.p50, g->latency.p95, g->latency.p99 };

	out_str(out, text_right(format_count(g->count), 9).s);
	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		if (g->no_reply < g->count)
			put_time(out, times[i]);
		else
			out_str(out, "         -");
	out_str(out, "  ");
}

/* Put a shape after the figures if it fits there, or else below them, in pieces. */
static void put_shape(struct out *out, size_t columns, const char *shape, bool figures)
{
	size_t length = strlen(shape), indent = 6;
	bool fits = SUM_WHERE + 2 + length <= columns;
	size_t column = fits ? SUM_WHERE + 2 : indent;

	if (!fits && figures)
		out_char(out, '\n');
	out_fill(out, fits && figures ? 2 : column, ' ');
	while (length) {
		size_t piece = strcspn(shape, ",>");

		piece = piece < length ? piece + 1 : length;
		if (column + piece > columns && column > indent + 2) {
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

/* "contacts D 49 %  ledger C 21 %": where the latency went, none below 2 %. */
static void put_path(struct out *out, size_t columns, const struct request_group *g)
{
	size_t at = 0;

	for (size_t i = 0; i < g->path.items.count; i++) {
		const struct path_share *share = &g->path.items.items[i];
		unsigned int percent = explain_percent(share->time, g->causes.total);
		char rest[24];
		size_t length = snprintf(rest, sizeof(rest), " %c %u %%", share->state, percent);
		size_t width = strlen(share->service) + length + 2;

		if (percent < 2 || (at && at + width > columns))
			break;
		out_fill(out, at ? 2 : SUM_INDENT, ' ');
		at = at ? at + width : SUM_INDENT + width;
		out_escaped(out, share->service, strlen(share->service));
		out_str(out, rest);
	}
	if (at)
		out_char(out, '\n');
}

/* The causes that cost most, with the number of requests that have them. */
static void put_causes(struct out *out, size_t columns, const struct span_set *spans,
		       const struct request_group *g)
{
	cause_lines lines = { 0 };

	cause_lines_find(spans, NULL, &g->causes, &lines);
	for (size_t i = 0; i < lines.count && i < CAUSES_SHOWN; i++) {
		struct cause_line *line = &lines.items[i];
		unsigned int percent = explain_percent(line->time, g->causes.total);
		size_t used = strlen(line->text.s);
		char share[24];

		if (percent < 10)
			break;
		snprintf(share, sizeof(share), "%3u %%  ", percent);
		snprintf(line->text.s + used, sizeof(line->text.s) - used, "; in %s request%s",
			 format_count(line->requests).s, line->requests == 1 ? "" : "s");
		out_fill(out, SUM_INDENT, ' ');
		out_str(out, share);
		put_wrapped(out, columns, line->text.s, SUM_INDENT + strlen(share));
	}
	vec_done(&lines);
}

/* The only shape of an entry has no figures of its own, and no name if it equals the service. */
static void put_group_shape(struct out *out, size_t columns, const struct span_set *spans,
			    const struct request_sum *sum, const struct request_group *shape)
{
	const struct request_group *entry = &sum->entries.items[shape->entry];
	bool alone = shape->count == entry->count;

	if (!alone)
		put_group(out, shape);
	if (!alone || shape->name.i != entry->service.i)
		put_shape(out, columns, strtab_get(sum->strings, shape->name), !alone);
	put_path(out, columns, shape);
	put_causes(out, columns, spans, shape);
}

static void put_shapes(struct out *out, size_t columns, const struct span_set *spans,
		       const struct request_sum *sum, uint32_t entry)
{
	size_t shown = 0, folded = 0;

	for (size_t i = 0; i < sum->shapes.count; i++) {
		const struct request_group *shape = &sum->shapes.items[i];

		if (shape->entry != entry)
			continue;
		if (shown++ < SHAPES_SHOWN)
			put_group_shape(out, columns, spans, sum, shape);
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

void requests_summary(struct out *out, const struct style *style, const struct request_view *view)
{
	_cleanup_(request_sum_done) struct request_sum sum;

	request_sum_find(view->spans, view->requests, view->summed, view->summed_count, &sum);
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
		put_shapes(out, style->columns, view->spans, &sum, i);
	}
	explain_left_out(out, view->lost, view->all);
	if (sum.unparented) {
		out_str(out, "\n");
		out_str(out, format_count(sum.unparented).s);
		out_str(out, sum.unparented == 1 ? " span has an unknown parent\n"
						 : " spans have an unknown parent\n");
	}
}
