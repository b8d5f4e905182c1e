/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/deviation.h"
#include "report/diagnosis.h"
#include "report/explain.h"
#include "report/phrase_step.h"
#include "report/split.h"

enum { INDENT = 4 };

static const char *name_of(const struct diagnosis *d, str_id id)
{
	return strtab_get(d->baseline->strings, id);
}

static struct text signed_time(double ns)
{
	struct text t = format_time(llround(fabs(ns))), ret;

	snprintf(ret.s, sizeof(ret.s), "%c%.30s", ns < 0 ? '-' : '+', t.s);
	return ret;
}

static void put_line(struct out *out, const struct style *style, const char *text, size_t indent)
{
	out_fill(out, indent, ' ');
	put_wrapped(out, style->columns, text, indent);
}

/*
 * "median 58.4 ms, usually up to 100 µs (median 10 µs); 143 of 151 spans are outside"; of a part,
 * "with n = 1: median ...; 30 of 31 spans are outside, and 143 of 151 in all".
 */
static void put_range(struct out *out, const struct style *style, const struct diagnosis *d,
		      const struct finding *f)
{
	const struct tested_operation *op = &d->operations.items[f->operation];
	struct phrase p = { "" };

	if (f->part)
		phrase_append(&p, "%s: ", split_phrase(f->part).s);
	if (f->feature != FEATURE_PATTERN)
		phrase_append(&p, "median %s, usually up to %s (median %s); ",
			      format_time(f->observed).s, format_time(llround(f->expected.high)).s,
			      format_time(llround(f->expected.by_quantiles ? f->expected.middle
									   : f->expected.mean))
				      .s);
	phrase_append(&p, "%s of %s spans are %s",
		      format_count(f->part ? f->part_flagged : f->flagged).s,
		      format_count(f->part ? f->part_spans : op->spans).s,
		      f->is_faster ? "below" : "outside");
	if (f->part)
		phrase_append(&p, ", and %s of %s in all", format_count(f->flagged).s,
			      format_count(op->spans).s);
	put_line(out, style, p.s, INDENT);
}

static void put_evidence(struct out *out, const struct style *style, const struct diagnosis *d,
			 const struct finding *f)
{
	const struct span *span = span_set_at(d->spans, d->tested.items[f->examples[0]].span);
	struct finding_evidence e;
	struct phrase p = { "" };

	if (!f->example_count)
		return;
	phrase_append(&p, "for example in trace ");
	for (size_t i = 0; i < sizeof(span->trace); i++)
		phrase_append(&p, "%02x", span->trace[i]);
	if (finding_evidence_find(d, f, &e) && e.observed[0])
		phrase_append(&p, ": states %s%s%s%s", e.observed,
			      e.expected[0] ? " (usually " : "", e.expected,
			      e.expected[0] ? ")" : "");
	put_line(out, style, p.s, INDENT);
}

static void put_finding(struct out *out, const struct style *style, const struct diagnosis *d,
			const struct finding *f)
{
	const struct tested_operation *op = &d->operations.items[f->operation];
	struct finding_cause cause;
	struct phrase p = { "" };

	phrase_append(&p, "%.80s  %.150s  %s", name_of(d, op->service), name_of(d, op->operation),
		      deviation_words(f->feature));
	if (f->feature != FEATURE_PATTERN)
		phrase_append(&p, "  %s per span", signed_time(f->excess.all / f->flagged).s);
	if (f->share >= 0.005)
		phrase_append(&p, ", %.0f %% of the slowdown", 100 * fmin(f->share, 1));
	if (f->part && 2 * f->part_flagged > f->flagged)
		phrase_append(&p, " (%s)", split_phrase(f->part).s);
	put_wrapped(out, style->columns, p.s, 0);
	put_range(out, style, d, f);
	if (finding_cause_find(d, f, &cause))
		put_line(out, style, cause.text.s, INDENT);
	put_evidence(out, style, d, f);
	out_char(out, '\n');
}

/* "151 requests take 8.2 ms longer than in the baseline" */
static void put_lead(struct out *out, const struct style *style, const struct diagnosis *d)
{
	double mean = d->traces ? d->change / d->traces : 0;
	struct phrase p = { "" };

	phrase_append(&p, "%s request%s ", format_count(d->traces).s, d->traces == 1 ? "" : "s");
	if (!d->spans_tested)
		phrase_append(&p, "could not be compared with the baseline");
	else if (!d->findings.count)
		phrase_append(&p, "behave%s as in the baseline", d->traces == 1 ? "s" : "");
	else
		phrase_append(&p, "take%s %s %s than in the baseline on average",
			      d->traces == 1 ? "s" : "", format_time(llround(fabs(mean))).s,
			      mean < 0 ? "less" : "longer");
	put_wrapped(out, style->columns, p.s, 0);
}

/* Load explains differences: of a busy baseline and an idle test, for example. */
static void put_load(struct out *out, const struct style *style, const struct diagnosis_view *v)
{
	const struct baseline *b = v->diagnosis->baseline;
	double traces = 0, seconds = 0, now = (double)v->length / NSEC_PER_SEC;
	struct phrase p = { "" };

	for (size_t i = 0; i < b->recordings.count; i++) {
		traces += b->recordings.items[i].traces;
		seconds += (double)b->recordings.items[i].length / NSEC_PER_SEC;
	}
	if (!now || !seconds)
		return;
	phrase_append(&p, "load: %.3g requests per second, in the baseline %.3g",
		      v->diagnosis->traces / now, traces / seconds);
	put_wrapped(out, style->columns, p.s, 0);
}

static void put_type(struct out *out, const struct style *style, const struct diagnosis *d,
		     const struct unknown_type *t)
{
	const struct span *root = span_set_at(d->spans, t->example);
	struct phrase p = { "" };

	phrase_append(&p, "new type of trace: %s of %.80s %.150s, %s; for example ",
		      format_count(t->traces).s, span_set_string(d->spans, root->service),
		      span_set_string(d->spans, root->operation),
		      t->is_repetition ? "a known one with another number of equal calls"
				       : "with other calls than in the baseline");
	for (size_t k = 0; k < sizeof(root->trace); k++)
		phrase_append(&p, "%02x", root->trace[k]);
	put_wrapped(out, style->columns, p.s, 0);
}

static void put_types(struct out *out, const struct style *style, const struct diagnosis_view *v)
{
	const struct diagnosis *d = v->diagnosis;
	struct phrase p = { "" };

	for (size_t i = 0; i < d->unknown_types.count && i < v->top; i++)
		if (!d->unknown_types.items[i].is_chance)
			put_type(out, style, d, &d->unknown_types.items[i]);
	if (!d->of_unknown_type)
		return;
	phrase_append(&p,
		      "%s of %s requests have a type of trace that the baseline does not have%s",
		      format_count(d->of_unknown_type).s, format_count(d->traces).s,
		      d->has_new_types ? "" : ": no more than it has unique ones");
	put_wrapped(out, style->columns, p.s, 0);
}

static void put_not_compared(struct out *out, const struct style *style,
			     const struct diagnosis_view *v)
{
	const struct diagnosis *d = v->diagnosis;
	uint64_t unknown = 0, lost = 0;

	for (size_t i = 0; i < d->operations.count; i++) {
		unknown += d->operations.items[i].unknown;
		lost += d->operations.items[i].lost;
	}

	const struct {
		uint64_t count;
		const char *why;
	} rows[] = {
		{ unknown, "spans: the baseline has fewer than 20 of their operation" },
		{ lost, "spans: records were lost in them" },
		{ v->counts->cut, "traces: not entirely recorded" },
		{ v->counts->orphaned, "traces: a parent is missing" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct phrase p = { "" };

		if (!rows[i].count)
			continue;
		phrase_append(&p, "not compared: %s %s", format_count(rows[i].count).s,
			      rows[i].why);
		put_wrapped(out, style->columns, p.s, 0);
	}
}

/* How much is flagged in all: 1 % is chance. */
static void put_flagged(struct out *out, const struct style *style, const struct diagnosis *d)
{
	struct phrase p = { "" };
	double share = d->spans_tested ? 100.0 * d->flagged / d->spans_tested : 0;

	phrase_append(
		&p, "%s of %s spans (%.1f %%) are outside of the baseline; of usual ones, 1 %% are",
		format_count(d->flagged).s, format_count(d->spans_tested).s, share);
	put_wrapped(out, style->columns, p.s, 0);
}

/* Whether a finding is worth a paragraph: a part of the slowdown, or of the spans' own duration. */
static bool is_large(const struct diagnosis *d, const struct finding *f)
{
	const struct profile *p = d->operations.items[f->operation].profile;

	if (f->feature == FEATURE_PATTERN || f->share >= 0.01)
		return true;
	return p && fabs(f->excess.all) / f->flagged >= 0.05 * p->p50 &&
	       !(d->slower > 0 && f->excess.all > 0);
}

static void put_small(struct out *out, const struct style *style, size_t count)
{
	struct phrase p = { "" };

	phrase_append(&p, "%zu smaller difference%s; --json lists all", count,
		      count == 1 ? "" : "s");
	put_wrapped(out, style->columns, p.s, 0);
}

void diagnosis_text(struct out *out, const struct style *style, const struct diagnosis_view *v)
{
	const struct diagnosis *d = v->diagnosis;
	size_t small = 0;

	put_lead(out, style, d);
	out_char(out, '\n');
	for (size_t i = 0; i < d->findings.count && i < v->top; i++) {
		if (!is_large(d, &d->findings.items[i]))
			small++;
		else
			put_finding(out, style, d, &d->findings.items[i]);
	}
	if (small)
		put_small(out, style, small);
	put_types(out, style, v);
	if (d->spans_tested)
		put_flagged(out, style, d);
	put_load(out, style, v);
	put_not_compared(out, style, v);
}
