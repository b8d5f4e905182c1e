/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/explain.h"
#include "report/json_put.h"

enum { CAUSES_SHOWN = 3, CAUSES_LISTED = 10, CAUSES_MERGED = 32 };

unsigned int explain_percent(nsec_t part, nsec_t whole)
{
	return whole ? ((double)part * 100 / whole + 0.5) : 0;
}

struct phrase explain_latency(const struct latency *latency)
{
	struct phrase p;

	snprintf(p.s, sizeof(p.s), "p50 %s, p95 %s, p99 %s of %s request%s",
		 format_time(latency->p50).s, format_time(latency->p95).s,
		 format_time(latency->p99).s, format_count(latency->count).s,
		 latency->count == 1 ? "" : "s");
	return p;
}

struct phrase explain_cause(const struct span_set *spans, struct account *account,
			    const struct cause_group *cause)
{
	struct account example = { 0 };

	if (!account) {
		account_of_span(spans, cause->example, &example);
		account = &example;
	}
	account->nodes.items[cause->node].several |= cause->several;
	account->nodes.items[cause->node].several_processes |= cause->several_processes;

	struct phrase p = phrase_cause(spans, account, cause->node);

	account_done(&example);
	return p;
}

/* Whether the time of a cause is that of a span without a known thread. */
static bool is_thread_missing(const struct account *account, const struct cause_group *cause)
{
	return !cause->is_pattern &&
	       !(account ? account->nodes.items[cause->node].state : cause->thread.i);
}

static int larger_first(const void *a, const void *b)
{
	const struct cause_line *x = a, *y = b;

	if (x->cause->is_pattern != y->cause->is_pattern)
		return x->cause->is_pattern ? -1 : 1;
	if (x->cause->is_lost != y->cause->is_lost)
		return x->cause->is_lost ? 1 : -1;
	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return x->cause < y->cause ? -1 : x->cause > y->cause;
}

/* Adds a cause to the one with the same words, if there is any. */
static void add_line(cause_lines *lines, const struct cause_group *cause, const struct phrase *text)
{
	for (size_t i = 0; i < lines->count; i++) {
		struct cause_line *line = &lines->items[i];

		if (strcmp(line->text.s, text->s) != 0)
			continue;
		line->time += cause->time;
		if (cause->requests > line->requests)
			line->requests = cause->requests;
		return;
	}
	*vec_push(lines) = (struct cause_line){ cause, cause->time, cause->requests, *text };
}

void cause_lines_find(const struct span_set *spans, struct account *account,
		      const struct cause_sum *causes, cause_lines *ret)
{
	for (size_t i = 0; i < causes->groups.count && i < CAUSES_MERGED; i++) {
		const struct cause_group *cause = &causes->groups.items[i];
		struct phrase text = explain_cause(spans, account, cause);

		add_line(ret, cause, &text);
	}
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(struct cause_line), larger_first);
}

bool explain_causes(struct out *out, const struct style *style, const struct span_set *spans,
		    struct account *account, const struct cause_sum *causes)
{
	bool missing_thread = false;
	cause_lines lines = { 0 };

	cause_lines_find(spans, account, causes, &lines);
	for (size_t i = 0; i < lines.count && i < CAUSES_SHOWN; i++) {
		const struct cause_line *line = &lines.items[i];
		char share[48];

		if (i > 0 && line->time < causes->total / 10)
			break;
		snprintf(share, sizeof(share), i ? "also  (%u %%): " : "cause (%u %%): ",
			 explain_percent(line->time, causes->total));
		put_coloured(out, style, "\033[1m", share);
		put_wrapped(out, style->columns, line->text.s, strlen(share));
		missing_thread |= is_thread_missing(account, line->cause);
	}
	vec_done(&lines);
	return missing_thread;
}

void explain_causes_json(struct json *j, const struct span_set *spans, struct account *account,
			 const struct cause_sum *causes)
{
	cause_lines lines = { 0 };

	cause_lines_find(spans, account, causes, &lines);
	json_key(j, "causes");
	json_array(j);
	for (size_t i = 0; i < lines.count && i < CAUSES_LISTED; i++) {
		const struct cause_line *line = &lines.items[i];

		json_object(j);
		if (account)
			put_u64(j, "node", line->cause->node);
		put_u64(j, "duration", line->time);
		json_key(j, "share");
		json_real(j, causes->total ? (double)line->time / causes->total : 0);
		if (!account)
			put_u64(j, "requests", line->requests);
		if (line->cause->is_pattern)
			put_bool(j, "pattern", true);
		put_string(j, "text", line->text.s);
		json_end(j);
	}
	json_end(j);
	vec_done(&lines);
}

/* "the 8 slowest of 151 requests", "the only request". */
static struct phrase which_requests(const struct entry_requests *b)
{
	struct phrase p;

	if (b->latency.count == 1)
		snprintf(p.s, sizeof(p.s), "the only request");
	else if (b->slow == b->latency.count)
		snprintf(p.s, sizeof(p.s), "all %s requests", format_count(b->slow).s);
	else if (b->slow == 1)
		snprintf(p.s, sizeof(p.s), "the slowest of %s requests",
			 format_count(b->latency.count).s);
	else
		snprintf(p.s, sizeof(p.s), "the %s slowest of %s requests", format_count(b->slow).s,
			 format_count(b->latency.count).s);
	return p;
}

void explain_entry(struct out *out, const struct style *style, const struct span_set *spans,
		   span_id request, const struct entry_requests *b)
{
	const struct span *span = span_set_at(spans, request);
	struct phrase p;

	snprintf(p.s, sizeof(p.s), "of the latency of %.60s to %.150s (%.100s)",
		 which_requests(b).s, span_set_string(spans, span->operation),
		 span_set_string(spans, span->service));
	if (b->latency.count > 1)
		snprintf(p.s + strlen(p.s), sizeof(p.s) - strlen(p.s), "; p50 %s, p95 %s, p99 %s",
			 format_time(b->latency.p50).s, format_time(b->latency.p95).s,
			 format_time(b->latency.p99).s);
	put_wrapped(out, style->columns, p.s, 0);
	explain_left_out(out, b->lost, b->all);
}

void explain_left_out(struct out *out, size_t lost, size_t all)
{
	if (!lost)
		return;
	out_str(out, "left out ");
	out_str(out, format_count(lost).s);
	out_str(out, " of ");
	out_str(out, format_count(all).s);
	out_str(out, " requests: records were lost in them\n");
}

void explain_missing_thread(struct out *out, const struct style *style)
{
	put_wrapped(out, style->columns,
		    "The threads of these spans were not recorded; record their hosts as well to "
		    "explain them.",
		    0);
}
