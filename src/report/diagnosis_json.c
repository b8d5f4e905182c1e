/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "report/diagnosis.h"
#include "report/json_put.h"
#include "report/split.h"

static void put_ns(struct json *j, const char *key, double ns)
{
	json_key(j, key);
	json_i64(j, llround(ns));
}

static void put_name(struct json *j, const struct diagnosis *d, const struct tested_operation *op)
{
	put_string(j, "service", strtab_get(d->baseline->strings, op->service));
	put_string(j, "operation", strtab_get(d->baseline->strings, op->operation));
}

/* {"L": 3}: the features with a count, by letter or name. */
static void put_counts(struct json *j, const char *key, const uint64_t counts[FEATURE_COUNT])
{
	json_key(j, key);
	json_object(j);
	for (enum span_feature f = 0; f < FEATURE_COUNT; f++) {
		char letter[2] = { feature_letter(f), '\0' };

		if (counts[f])
			put_u64(j, letter[0] ? letter : feature_name(f), counts[f]);
	}
	json_end(j);
}

static void put_operation(struct json *j, const struct diagnosis *d,
			  const struct tested_operation *op)
{
	json_object(j);
	put_name(j, d, op);
	put_u64(j, "spans", op->spans);
	put_u64(j, "flagged", op->flagged);
	put_u64(j, "flagged_paper", op->flagged_plainly);
	put_counts(j, "flagged_by_state", op->slower);
	put_counts(j, "faster_by_state", op->faster);
	put_u64(j, "slower_than_p99", op->slow);
	put_counts(j, "slower_than_p99_flagged_by_state", op->slow_flagged);
	put_u64(j, "too_few_in_baseline", op->unknown);
	put_u64(j, "lost", op->lost);
	json_end(j);
}

static void put_expected(struct json *j, const struct finding *f)
{
	json_key(j, "expected_ns");
	json_object(j);
	put_ns(j, "median", f->expected.middle);
	put_ns(j, "low", f->expected.low);
	put_ns(j, "high", f->expected.high);
	put_ns(j, "mean", f->expected.mean);
	json_end(j);
	json_key(j, "observed_ns");
	json_object(j);
	put_ns(j, "median", f->observed);
	json_end(j);
}

static void put_cause(struct json *j, const struct diagnosis *d, const struct finding *f)
{
	struct finding_cause cause;

	if (!finding_cause_find(d, f, &cause))
		return;
	put_string(j, "cause", cause.text.s);
	put_real(j, "cause_share", cause.share);
	json_key(j, "culprit");
	json_object(j);
	put_string(j, "kind", cause.culprit.kind);
	put_string(j, "name", cause.culprit.name);
	json_end(j);
}

/* How the finding can be checked in one span. */
static void put_evidence(struct json *j, const struct diagnosis *d, const struct finding *f)
{
	const struct tested *t = &d->tested.items[f->examples[0]];
	const struct span *span = span_set_at(d->spans, t->span);
	struct finding_evidence e;

	if (!f->example_count)
		return;
	put_hex(j, "trace", span->trace, sizeof(span->trace));
	put_hex(j, "span", span->id, sizeof(span->id));
	if (!finding_evidence_find(d, f, &e))
		return;
	json_key(j, "evidence");
	json_object(j);
	if (e.interval != INTERVAL_ALL) {
		put_u64(j, "interval", e.interval);
		put_string(j, "expected_pattern", e.expected);
		put_string(j, "observed_states", e.observed);
	}
	put_ns(j, "observed_ns", e.deviation.observed);
	put_ns(j, "low_ns", e.deviation.band.low);
	put_ns(j, "high_ns", e.deviation.band.high);
	put_real(j, "score", e.deviation.score);
	put_real(j, "limit", t->profile->limit);
	json_end(j);
}

/* The part of the operation that deviates. */
static void put_split(struct json *j, const struct finding *f)
{
	json_key(j, "split");
	json_object(j);
	split_json(j, f->part);
	put_u64(j, "spans", f->part_spans);
	put_u64(j, "flagged", f->part_flagged);
	json_end(j);
}

static void put_finding(struct json *j, const struct diagnosis *d, size_t rank)
{
	const struct finding *f = &d->findings.items[rank];
	const struct tested_operation *op = &d->operations.items[f->operation];
	char letter[2] = { f->feature < FEATURE_STATES ? feature_letter(f->feature) : 0, '\0' };

	json_object(j);
	put_u64(j, "rank", rank + 1);
	put_name(j, d, op);
	put_string(j, "kind", finding_kind(f));
	if (letter[0])
		put_string(j, "state", letter);
	put_string(j, "direction", f->is_faster ? "faster" : "slower");
	put_u64(j, "spans", op->spans);
	put_u64(j, "flagged", f->flagged);
	if (f->part)
		put_split(j, f);
	if (f->feature != FEATURE_PATTERN)
		put_expected(j, f);
	put_ns(j, "excess_ns", f->excess.on_path);
	put_real(j, "share", f->share);
	put_cause(j, d, f);
	put_evidence(j, d, f);
	json_end(j);
}

static void put_unknown_type(struct json *j, const struct diagnosis *d,
			     const struct unknown_type *type)
{
	const struct span *root = span_set_at(d->spans, type->example);

	json_object(j);
	put_digest(j, "type", type->type);
	put_string(j, "service", span_set_string(d->spans, root->service));
	put_string(j, "operation", span_set_string(d->spans, root->operation));
	put_u64(j, "traces", type->traces);
	put_bool(j, "repetition", type->is_repetition);
	put_hex(j, "trace", root->trace, sizeof(root->trace));
	json_end(j);
}

static void put_totals(struct json *j, const struct diagnosis_view *v)
{
	const struct diagnosis *d = v->diagnosis;

	put_u64(j, "traces", d->traces);
	put_u64(j, "cut", v->counts->cut);
	put_u64(j, "orphaned", v->counts->orphaned);
	put_u64(j, "spans", d->spans_tested);
	put_u64(j, "flagged", d->flagged);
	put_u64(j, "flagged_paper", d->flagged_plainly);
	put_ns(j, "change_ns", d->change);
	put_ns(j, "slower_ns", d->slower);
	put_digest(j, "inputs", v->inputs_digest);
	put_digest(j, "baseline", baseline_digest(d->baseline));
}

void diagnosis_json(struct json *j, const struct diagnosis_view *v)
{
	const struct diagnosis *d = v->diagnosis;

	json_object(j);
	put_totals(j, v);
	json_key(j, "findings");
	json_array(j);
	for (size_t i = 0; i < d->findings.count && i < v->top; i++)
		put_finding(j, d, i);
	json_end(j);
	json_key(j, "operations");
	json_array(j);
	for (size_t i = 0; i < d->operations.count; i++)
		put_operation(j, d, &d->operations.items[i]);
	json_end(j);
	json_key(j, "unknown_types");
	json_array(j);
	for (size_t i = 0; i < d->unknown_types.count && i < v->top; i++)
		put_unknown_type(j, d, &d->unknown_types.items[i]);
	json_end(j);
	json_end(j);
}
