/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/contrast.h"
#include "report/explain.h"
#include "report/phrase_step.h"
#include "report/state_style.h"

enum {
	CAUSES_SHOWN = 5,
	STATES_SHOWN = 6,
	TRAITS_SHOWN = 3,
	CALLS_SHOWN = 2,
	INDENT = 2,
	TIME_COLUMNS = 9,
	WORDS = 23, /* column of sentences */
	SERVICE_COLUMNS = 24,
	LABEL_COLUMNS = 11,
	BAR_COLUMNS = 20,
};

struct contrast_page {
	struct out *out;
	const struct style *style;
	const struct contrast_view *view;
	const struct contrast *contrast;
};

static nsec_t rounded(double ns)
{
	return ns > 0 ? fmin(ns, 1e19) + 0.5 : 0;
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
	double share = whole > 0 ? part * 100 / whole : 0;

	return lround(fmax(-999, fmin(999, share)));
}

static void put_sentence(const struct contrast_page *page, const struct phrase *p)
{
	put_wrapped(page->out, page->style->columns, p->s, 0);
}

/* "GET /home (client)" */
static struct phrase name_of(const struct contrast_view *view)
{
	const struct span *span = span_set_at(view->spans, view->request);
	struct phrase p = { "" };

	phrase_append(&p, "%.150s (%.100s)", span_set_string(view->spans, span->operation),
		      span_set_string(view->spans, span->service));
	return p;
}

/* Why there is nothing to contrast. */
static void put_not_compared(const struct contrast_page *page, enum contrast_verdict verdict)
{
	const struct contrast_view *view = page->view;
	size_t count = view->latency.count, least = CONTRAST_SLOW_MIN + CONTRAST_USUAL_MIN;
	struct phrase p = name_of(view);

	phrase_append(&p, ": ");
	if (verdict == VERDICT_SAME)
		phrase_append(&p, "nothing stands out: most of %s requests take the same time, %s",
			      format_count(count).s, format_time(view->latency.p50).s);
	else if (view->limit.thousandths)
		phrase_append(&p, "only %s request%s: too few to compare, at least %zu are needed",
			      format_count(count).s, count == 1 ? "" : "s", least);
	else if (verdict == VERDICT_NONE_SLOW)
		phrase_append(&p, "none of %s request%s takes %s or longer", format_count(count).s,
			      count == 1 ? "" : "s", format_time(view->limit.time).s);
	else
		phrase_append(&p,
			      "%s of %s requests take %s or longer: too few others to compare with",
			      format_count(view->choice.slow).s, format_count(count).s,
			      format_time(view->limit.time).s);
	put_sentence(page, &p);
}

/* "the 8 slowest of 143 requests take 85.3 ms on average, usual ones 4.42 ms" */
static void put_title(const struct contrast_page *page)
{
	const struct contrast_view *view = page->view;
	const struct contrast *c = page->contrast;
	struct phrase p = { "" };

	out_str(page->out, page->style->colour ? "\033[1m" : "");
	put_wrapped(page->out, page->style->columns, name_of(view).s, 0);
	out_str(page->out, page->style->colour ? "\033[0m" : "");
	phrase_append(&p,
		      view->choice.slow == 1 ? "the%s slowest of %s requests takes %s"
					     : "the %s slowest of %s requests take %s",
		      view->choice.slow == 1 ? "" : format_count(view->choice.slow).s,
		      format_count(view->latency.count).s,
		      format_time(rounded(contrast_mean(&c->slow))).s);
	phrase_append(&p, "%s, usual ones %s", view->choice.slow == 1 ? "" : " on average",
		      format_time(rounded(contrast_mean(&c->usual))).s);
	put_sentence(page, &p);
	p = (struct phrase){ "" };
	phrase_append(&p, "p50 %s, p95 %s, p99 %s", format_time(view->latency.p50).s,
		      format_time(view->latency.p95).s, format_time(view->latency.p99).s);
	if (c->slow.compared < c->slow.count || c->usual.compared < c->usual.count)
		phrase_append(&p, "; a sample of %s slow and %s usual requests is compared",
			      format_count(c->slow.compared).s, format_count(c->usual.compared).s);
	put_sentence(page, &p);
}

static void put_verdict(const struct contrast_page *page, enum contrast_verdict verdict)
{
	const struct contrast *c = page->contrast;
	struct phrase p = { "" };

	if (verdict == VERDICT_SAME)
		phrase_append(&p,
			      "nothing stands out: slow requests take only %.1f times as long as "
			      "usual ones; if all are too slow, use 'sonde explain'",
			      contrast_mean(&c->slow) / fmax(contrast_mean(&c->usual), 1));
	else
		phrase_append(&p,
			      "nothing stands out: the difference of %s is spread over %s causes",
			      format_time(rounded(c->difference)).s,
			      format_count(c->causes.count).s);
	put_sentence(page, &p);
	out_char(page->out, '\n');
}

static struct text count_or_none(uint64_t count)
{
	return count ? format_count(count) : (struct text){ "none" };
}

/* How a cause differs between slow and usual requests: by its presence, or by its time. */
static struct phrase presence(const struct contrast *c, const struct contrast_cause *cause)
{
	struct phrase p = { "" };

	if (!contrast_is_rare(c, cause) && cause->slow_requests) {
		phrase_append(&p, "%s in a slow request, %s in a usual one",
			      format_time(cause->slow / c->slow.compared).s,
			      format_time(cause->usual / c->usual.compared).s);
		return p;
	}
	phrase_append(&p, "in %s of %s slow requests, in ", count_or_none(cause->slow_requests).s,
		      format_count(c->slow.compared).s);
	phrase_append(&p, "%s of %s usual ones", count_or_none(cause->usual_requests).s,
		      format_count(c->usual.compared).s);
	return p;
}

/* What a cause delays, the end of its sentence: ", while front (7) waits for its reply". */
static const char *tail_of(const struct contrast_line *line)
{
	const char *tail = strstr(line->text.s, ", while ");

	return tail ? tail : line->text.s + strlen(line->text.s);
}

static void put_figures(const struct contrast_page *page, double part, uint8_t state)
{
	char letter[2] = { state && state != STATE_GAP ? state_letter(state) : ' ', '\0' };
	char share[32];

	out_fill(page->out, INDENT, ' ');
	put_coloured(page->out, page->style, "\033[1m",
		     text_right(format_part(part), TIME_COLUMNS).s);
	snprintf(share, sizeof(share), "%5d %%", percent(part, page->contrast->difference));
	out_str(page->out, share);
	out_fill(page->out, WORDS - 3 - INDENT - TIME_COLUMNS - strlen(share), ' ');
	put_coloured(page->out, page->style, state_colour(state), letter);
	out_str(page->out, "  ");
}

static void put_below(const struct contrast_page *page, const char *words)
{
	out_fill(page->out, WORDS, ' ');
	put_wrapped(page->out, page->style->columns, words, WORDS);
}

/* "together 76.2 ms (94 %), while front (7) waits for its reply" */
static void put_together(const struct contrast_page *page, const struct contrast_line *lines,
			 size_t count)
{
	struct phrase p = { "" };
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += lines[i].cause.part;
	phrase_append(&p, "together %s (%d %%)%s", format_part(sum).s,
		      percent(sum, page->contrast->difference), tail_of(&lines[0]));
	put_below(page, p.s);
}

/* Causes that delay the same thing: what they delay is written once. */
static void put_group(const struct contrast_page *page, const struct contrast_line *lines,
		      size_t count)
{
	const struct contrast *c = page->contrast;
	struct phrase p, first = presence(c, &lines[0].cause);
	bool is_same = true;

	for (size_t i = 1; i < count; i++)
		is_same &= strcmp(presence(c, &lines[i].cause).s, first.s) == 0;
	for (size_t i = 0; i < count; i++) {
		p = lines[i].text;
		if (count > 1)
			p.s[tail_of(&lines[i]) - lines[i].text.s] = '\0';
		put_figures(page, lines[i].cause.part, lines[i].cause.group.state);
		put_wrapped(page->out, page->style->columns, p.s, WORDS);
		if (!is_same)
			put_below(page, presence(c, &lines[i].cause).s);
	}
	if (count > 1)
		put_together(page, lines, count);
	if (is_same)
		put_below(page, first.s);
}

/* Whether a line is worth the reader's time. */
static bool matters(const struct contrast *c, const struct contrast_line *line)
{
	return line->cause.stands_out || fabs(line->cause.part) * 10 >= c->difference;
}

/* Keeps the lines to show, and returns what the others add up to. */
static double keep_lines(const struct contrast *c, size_t max, contrast_lines *lines)
{
	double rest = c->difference;
	size_t kept = 0;

	for (size_t i = 0; i < lines->count; i++) {
		if (kept == max || (kept && !matters(c, &lines->items[i])))
			continue;
		if (!lines->items[i].cause.group.is_pattern)
			rest -= lines->items[i].cause.part;
		lines->items[kept++] = lines->items[i];
	}
	lines->count = kept;
	return rest;
}

/* The request whose account has the words of the first causes. */
static void put_example(const struct contrast_page *page, const struct contrast_line *line)
{
	const struct span_set *spans = page->view->spans;
	const struct span *span = span_set_at(spans, line->cause.group.example);
	struct phrase p = { "" };

	phrase_append(&p, "for example trace %s, %s", explain_trace_id(spans, span).s,
		      format_time(span->end - span_arrival(span)).s);
	put_below(page, p.s);
}

static bool is_same_tail(const struct contrast_line *a, const struct contrast_line *b)
{
	return *tail_of(a) && strcmp(tail_of(a), tail_of(b)) == 0;
}

/* Moves lines with the same tail behind the first of them. */
static void gather_tails(contrast_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		size_t end = i + 1;

		for (size_t k = end; k < lines->count; k++) {
			struct contrast_line line = lines->items[k];

			if (!is_same_tail(&lines->items[i], &line))
				continue;
			memmove(&lines->items[end + 1], &lines->items[end],
				(k - end) * sizeof(line));
			lines->items[end++] = line;
		}
		i = end - 1;
	}
}

static void put_causes(const struct contrast_page *page, size_t max)
{
	contrast_lines lines = { 0 };
	size_t merged = 0;

	contrast_lines_find(page->view, &lines);

	double rest = keep_lines(page->contrast, max, &lines);

	gather_tails(&lines);
	for (size_t i = 0, end; i < lines.count; i = end) {
		for (end = i + 1;
		     end < lines.count && is_same_tail(&lines.items[i], &lines.items[end]); end++)
			;
		put_group(page, &lines.items[i], end - i);
		for (size_t k = i; k < end; k++)
			merged += lines.items[k].merged;
	}
	if (merged < page->contrast->causes.count && percent(rest, page->contrast->difference)) {
		put_figures(page, rest, 0);
		put_wrapped(page->out, page->style->columns, "other causes", WORDS);
	}
	if (lines.count)
		put_example(page, &lines.items[0]);
	vec_done(&lines);
}

static void put_bar(const struct contrast_page *page, const struct contrast_state *state)
{
	double share = state->part / page->contrast->difference;
	char bar[BAR_COLUMNS + 1] = "";

	memset(bar, state->state == STATE_GAP ? '-' : state_letter(state->state),
	       (size_t)(fmax(0, fmin(share, 1)) * BAR_COLUMNS + 0.5));
	put_coloured(page->out, page->style, state_colour(state->state), bar);
	out_char(page->out, '\n');
}

static void put_state(const struct contrast_page *page, const struct contrast_state *state)
{
	const struct contrast *c = page->contrast;
	struct phrase service = { "" };
	char label[32];

	phrase_append(&service, "%.*s", SERVICE_COLUMNS - 2, state->service);
	out_fill(page->out, INDENT, ' ');
	out_str(page->out, text_right(format_time(state->slow / c->slow.compared), TIME_COLUMNS).s);
	out_str(page->out,
		text_right(format_time(state->usual / c->usual.compared), TIME_COLUMNS).s);
	out_str(page->out, "  ");

	size_t width = out_escaped(page->out, service.s, strlen(service.s));

	out_fill(page->out, width < SERVICE_COLUMNS ? SERVICE_COLUMNS - width : 1, ' ');
	snprintf(label, sizeof(label), "%c %-*s",
		 state->state == STATE_GAP ? ' ' : state_letter(state->state), LABEL_COLUMNS,
		 state->state == STATE_GAP ? "unrecorded" : state_label(state->state));
	put_coloured(page->out, page->style, state_colour(state->state), label);
	put_bar(page, state);
}

static void put_states(const struct contrast_page *page)
{
	const struct contrast *c = page->contrast;

	out_str(page->out, "       slow    usual  time per request\n");
	for (size_t i = 0; i < c->states.count && i < STATES_SHOWN; i++)
		if (fabs(c->states.items[i].part) * 50 >= c->difference)
			put_state(page, &c->states.items[i]);
}

/* "11 of 11 slow requests and 3 of 100 usual ones" */
static struct phrase how_many(const struct contrast *c, uint32_t slow, uint32_t usual)
{
	struct phrase p = { "" };

	phrase_append(&p, "%s of %s slow requests and ", format_count(slow).s,
		      format_count(c->slow.compared).s);
	phrase_append(&p, "%s of %s usual ones ", count_or_none(usual).s,
		      format_count(c->usual.compared).s);
	return p;
}

static void put_trait(const struct contrast_page *page, const struct trait *trait)
{
	struct phrase p = how_many(page->contrast, trait->slow_requests, trait->usual_requests);

	phrase_append(&p, "%s", contrast_trait(page->view, trait).s);
	put_sentence(page, &p);
}

static void put_period(const struct contrast_page *page, const struct slow_period *period)
{
	nsec_t begin = model_begin(page->view->spans->model);
	struct phrase p = how_many(page->contrast, period->slow_requests, period->usual_requests);

	phrase_append(&p, "arrived between %s and ", format_time(period->from - begin).s);
	phrase_append(&p, "%s of the recording", format_time(period->to - begin).s);
	put_sentence(page, &p);
}

/* Slow requests with a call that usual ones do not have can be of another kind. */
static void put_call(const struct contrast_page *page, const struct call_contrast *call)
{
	const struct contrast *c = page->contrast;
	const struct span_set *spans = page->view->spans;
	const struct span *span = span_set_at(spans, call->span);
	const char *service = span_set_string(spans, span->service);
	const char *operation = span_set_string(spans, span->operation);
	struct phrase p = { "" };

	if (call->usual_requests) {
		phrase_append(&p, "a slow request has %.3g calls of %.100s %.150s",
			      (double)call->slow / c->slow.compared, service, operation);
		phrase_append(&p, ", a usual one %.3g", (double)call->usual / c->usual.compared);
	} else {
		p = how_many(c, call->slow_requests, 0);
		phrase_append(&p,
			      "call %.100s %.150s; use --service and --operation to compare "
			      "these with each other",
			      service, operation);
	}
	put_sentence(page, &p);
}

static void put_calls(const struct contrast_page *page)
{
	const struct contrast_traits *t = page->view->traits;

	for (size_t i = 0; i < t->calls.count && i < CALLS_SHOWN; i++)
		put_call(page, &t->calls.items[i]);
}

static void put_common(const struct contrast_page *page)
{
	const struct contrast_traits *t = page->view->traits;

	if (t->traits.count || t->period.to)
		out_char(page->out, '\n');
	for (size_t i = 0; i < t->traits.count && i < TRAITS_SHOWN; i++)
		put_trait(page, &t->traits.items[i]);
	if (t->period.to)
		put_period(page, &t->period);
}

void contrast_text(struct out *out, const struct style *style, const struct contrast_view *view)
{
	struct contrast_page page = { out, style, view, view->contrast };
	enum contrast_verdict verdict = contrast_verdict(view);

	if (!view->contrast) {
		put_not_compared(&page, verdict);
		return;
	}
	put_title(&page);
	put_calls(&page);
	out_char(out, '\n');
	if (verdict != VERDICT_CAUSES)
		put_verdict(&page, verdict);
	put_causes(&page, verdict == VERDICT_CAUSES ? CAUSES_SHOWN : 1);
	out_char(out, '\n');
	put_states(&page);
	put_common(&page);
}
