/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "event/kind.h"
#include "report/contrast.h"
#include "report/phrase_step.h"

enum {
	CAUSES_SHOWN = 5,
	STATES_SHOWN = 6,
	TRAITS_SHOWN = 3,
	INDENT = 2,
	TIME_COLUMNS = 9,
	SERVICE_COLUMNS = 16,
	BAR_COLUMNS = 20,
};

struct page {
	struct out *out;
	const struct style *style;
	const struct contrast_view *view;
	const struct contrast *contrast;
};

static nsec_t rounded(double ns)
{
	return ns > 0 ? ns + 0.5 : 0;
}

/* "+52.3 ms" */
static struct text format_part(double ns)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%c%.30s", ns < 0 ? '-' : '+', format_time(rounded(fabs(ns))).s);
	return t;
}

static int percent(double part, double whole)
{
	return whole > 0 ? lround(part * 100 / whole) : 0;
}

/* "GET /home (client)" */
static void append_name(struct phrase *p, const struct contrast_view *view)
{
	const struct span *span = span_set_at(view->spans, view->request);

	phrase_append(p, "%.150s (%.100s)", span_set_string(view->spans, span->operation),
		      span_set_string(view->spans, span->service));
}

/* "8 slow requests of 143 take 98.1 ms, usual ones 6.2 ms" */
static void put_title(const struct page *page)
{
	const struct contrast_view *view = page->view;
	struct phrase p = { "" };

	append_name(&p, view);
	put_coloured(page->out, page->style, "\033[1m", "");
	phrase_append(&p, ": ");
	if (!page->contrast) {
		phrase_append(&p, "%s", format_count(view->latency.count).s);
		phrase_append(&p, " requests");
	} else {
		phrase_append(&p, "the %s slowest of %s requests take %s",
			      format_count(view->choice.slow).s,
			      format_count(view->latency.count).s,
			      format_time(rounded(contrast_mean(&page->contrast->slow))).s);
		phrase_append(&p, " on average, usual ones %s",
			      format_time(rounded(contrast_mean(&page->contrast->usual))).s);
	}
	put_wrapped(page->out, page->style->columns, p.s, 0);
}

/* Whether requests have a cause, or how much of it. */
static struct phrase presence(const struct contrast *c, const struct contrast_cause *cause)
{
	struct phrase p = { "" };

	if (!contrast_is_rare(c, cause) && cause->slow_requests) {
		phrase_append(&p, "%s in a slow request, ",
			      format_time(cause->slow / c->slow.compared).s);
		phrase_append(&p, "%s in a usual one",
			      format_time(cause->usual / c->usual.compared).s);
		return p;
	}
	phrase_append(&p, "in %s of ", format_count(cause->slow_requests).s);
	phrase_append(&p, "%s slow requests, in ", format_count(c->slow.compared).s);
	if (cause->usual_requests)
		phrase_append(&p, "%s", format_count(cause->usual_requests).s);
	else
		phrase_append(&p, "none");
	phrase_append(&p, " of %s usual ones", format_count(c->usual.compared).s);
	return p;
}

static void put_cause(const struct page *page, const struct contrast_line *line)
{
	const struct contrast *c = page->contrast;
	char share[32];
	size_t column;

	out_fill(page->out, INDENT, ' ');
	put_coloured(page->out, page->style, "\033[1m",
		     text_right(format_part(line->cause.part), TIME_COLUMNS).s);
	snprintf(share, sizeof(share), "%4d %%  ", percent(line->cause.part, c->difference));
	out_str(page->out, share);
	column = INDENT + TIME_COLUMNS + strlen(share);
	put_wrapped(page->out, page->style->columns, line->text.s, column);
	out_fill(page->out, column + 2, ' ');
	put_wrapped(page->out, page->style->columns, presence(c, &line->cause).s, column + 2);
}

static void put_rest(const struct page *page, double rest, size_t count)
{
	char words[96];

	if (!count)
		return;
	out_fill(page->out, INDENT, ' ');
	out_str(page->out, text_right(format_part(rest), TIME_COLUMNS).s);
	snprintf(words, sizeof(words), "%4d %%  %s more cause%s\n",
		 percent(rest, page->contrast->difference), format_count(count).s,
		 count == 1 ? "" : "s");
	out_str(page->out, words);
}

/* Whether a line is worth the reader's time. */
static bool matters(const struct contrast *c, const struct contrast_line *line)
{
	return line->cause.stands_out || fabs(line->cause.part) * 10 >= c->difference;
}

static void put_causes(const struct page *page)
{
	const struct contrast *c = page->contrast;
	contrast_lines lines = { 0 };
	double rest = c->difference;
	size_t shown = 0, count = c->causes.count;

	contrast_lines_find(page->view, &lines);
	for (size_t i = 0; i < lines.count; i++) {
		const struct contrast_line *line = &lines.items[i];

		if (shown == CAUSES_SHOWN || (i > 0 && !matters(c, line)))
			continue;
		put_cause(page, line);
		shown++;
		if (line->cause.group.is_pattern)
			continue;
		rest -= line->cause.part;
		count--;
	}
	put_rest(page, rest, count);
	vec_done(&lines);
}

static void put_bar(const struct page *page, double share)
{
	size_t cells = share > 0 ? share * BAR_COLUMNS + 0.5 : 0;

	out_str(page->out, "  ");
	for (size_t i = 0; i < cells && i < BAR_COLUMNS; i++)
		out_str(page->out, "█");
}

static void put_state(const struct page *page, const struct contrast_state *state)
{
	const struct contrast *c = page->contrast;
	char letter[2] = { state->state == STATE_GAP ? '?' : state->state, '\0' };
	size_t width;

	out_fill(page->out, INDENT, ' ');
	out_str(page->out, text_right(format_time(state->slow / c->slow.compared), TIME_COLUMNS).s);
	out_str(page->out,
		text_right(format_time(state->usual / c->usual.compared), TIME_COLUMNS + 2).s);
	out_str(page->out, "  ");
	out_str(page->out, letter);
	out_char(page->out, ' ');
	width = out_escaped(page->out, state->service, strlen(state->service));
	out_fill(page->out, width < SERVICE_COLUMNS ? SERVICE_COLUMNS - width : 0, ' ');
	put_bar(page, state->part / c->difference);
	out_char(page->out, '\n');
}

static void put_states(const struct page *page)
{
	const struct contrast *c = page->contrast;

	out_fill(page->out, INDENT, ' ');
	out_str(page->out, "     slow      usual  time per request, by service and state\n");
	for (size_t i = 0; i < c->states.count && i < STATES_SHOWN; i++)
		if (fabs(c->states.items[i].part) * 50 >= c->difference)
			put_state(page, &c->states.items[i]);
}

static void put_traits(const struct page *page)
{
	const struct contrast *c = page->contrast;
	const struct contrast_traits *t = page->view->traits;

	for (size_t i = 0; i < t->traits.count && i < TRAITS_SHOWN; i++) {
		const struct trait *trait = &t->traits.items[i];
		struct phrase p = { "" };

		phrase_append(&p, "%s of ", format_count(trait->slow_requests).s);
		phrase_append(&p, "%s slow requests and ", format_count(c->slow.compared).s);
		phrase_append(&p, "%s of ", format_count(trait->usual_requests).s);
		phrase_append(&p, "%s usual ones have %s", format_count(c->usual.compared).s,
			      contrast_trait(page->view->spans, trait).s);
		put_wrapped(page->out, page->style->columns, p.s, 0);
	}
	for (size_t i = 0; i < t->calls.count && i < TRAITS_SHOWN; i++) {
		const struct call_contrast *call = &t->calls.items[i];
		const struct span *span = span_set_at(page->view->spans, call->span);
		struct phrase p = { "" };

		phrase_append(&p,
			      "%.3g calls of %.100s %.150s in a slow request, %.3g in a usual one",
			      (double)call->slow / c->slow.compared,
			      span_set_string(page->view->spans, span->service),
			      span_set_string(page->view->spans, span->operation),
			      (double)call->usual / c->usual.compared);
		put_wrapped(page->out, page->style->columns, p.s, 0);
	}
}

void contrast_text(struct out *out, const struct style *style, const struct contrast_view *view)
{
	struct page page = { out, style, view, view->contrast };

	put_title(&page);
	if (!view->contrast)
		return;
	out_char(out, '\n');
	put_causes(&page);
	out_char(out, '\n');
	put_states(&page);
	put_traits(&page);
}
