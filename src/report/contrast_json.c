/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/contrast.h"
#include "report/json_put.h"
#include "report/state_style.h"

/* Mean times are rounded to ns; parts can be negative. */
static void put_mean(struct json *j, const char *key, double ns)
{
	json_key(j, key);
	json_i64(j, llround(fmax(-9e18, fmin(9e18, ns))));
}

static void put_state(struct json *j, uint8_t state)
{
	char letter[2] = { state_letter(state), '\0' };

	if (state && state != STATE_GAP)
		put_string(j, "state", letter);
}

static void put_side(struct json *j, const char *key, const struct contrast_side *side)
{
	json_key(j, key);
	json_object(j);
	put_u64(j, "requests", side->count);
	put_u64(j, "compared", side->compared);
	put_mean(j, "mean", contrast_mean(side));
	json_end(j);
}

/* Requests and mean time of a cause on one side. */
static void put_share(struct json *j, const char *key, const struct contrast_side *side,
		      uint32_t requests, nsec_t time)
{
	json_key(j, key);
	json_object(j);
	put_u64(j, "requests", requests);
	put_mean(j, "mean", (double)time / side->compared);
	json_end(j);
}

static const char *kind_of(const struct contrast *c, const struct contrast_cause *cause)
{
	if (cause->part < 0)
		return "less";
	if (!cause->usual_requests)
		return "only slow";
	return contrast_is_rare(c, cause) ? "more often" : "longer";
}

static void put_cause(struct json *j, const struct contrast_view *view,
		      const struct contrast_line *line)
{
	const struct contrast *c = view->contrast;
	const struct contrast_cause *cause = &line->cause;
	const struct span *example = span_set_at(view->spans, cause->group.example);

	json_object(j);
	put_mean(j, "part", cause->part);
	put_real(j, "share", c->difference > 0 ? cause->part / c->difference : 0);
	put_mean(j, "noise", cause->noise);
	put_bool(j, "stands_out", cause->stands_out);
	put_string(j, "kind", kind_of(c, cause));
	put_share(j, "slow", &c->slow, cause->slow_requests, cause->slow);
	put_share(j, "usual", &c->usual, cause->usual_requests, cause->usual);
	put_string(j, "service", contrast_service(view->spans, &cause->group));
	put_state(j, cause->group.state);
	if (cause->group.is_pattern)
		put_bool(j, "pattern", true);
	put_string(j, "text", line->text.s);
	put_hex(j, "trace_id", example->trace, sizeof(example->trace));
	put_hex(j, "span_id", example->id, sizeof(example->id));
	json_end(j);
}

static void put_causes(struct json *j, const struct contrast_view *view)
{
	contrast_lines lines = { 0 };
	double rest = view->contrast->difference;

	contrast_lines_find(view, &lines);
	json_key(j, "causes");
	json_array(j);
	for (size_t i = 0; i < lines.count; i++) {
		put_cause(j, view, &lines.items[i]);
		if (!lines.items[i].cause.group.is_pattern)
			rest -= lines.items[i].cause.part;
	}
	json_end(j);
	put_mean(j, "other_causes", rest);
	vec_done(&lines);
}

static void put_states(struct json *j, const struct contrast *c)
{
	json_key(j, "states");
	json_array(j);
	for (size_t i = 0; i < c->states.count; i++) {
		const struct contrast_state *s = &c->states.items[i];

		json_object(j);
		put_string(j, "service", s->service);
		put_state(j, s->state);
		put_mean(j, "part", s->part);
		put_mean(j, "slow", (double)s->slow / c->slow.compared);
		put_mean(j, "usual", (double)s->usual / c->usual.compared);
		json_end(j);
	}
	json_end(j);
}

static void put_trait(struct json *j, const struct contrast_view *view, const struct trait *trait)
{
	static const char *const kinds[] = { [TRAIT_ATTRIBUTE] = "attribute",
					     [TRAIT_HOST] = "host",
					     [TRAIT_PROCESS] = "process",
					     [TRAIT_THREAD] = "thread" };
	const struct model *model = view->spans->model;
	const struct span *span = span_set_at(view->spans, trait->span);

	put_string(j, "kind", kinds[trait->kind]);
	put_string(j, "service", span_set_string(view->spans, span->service));
	if (trait->kind != TRAIT_ATTRIBUTE)
		return;
	put_string(j, "key", model_string(model, trait->attribute->key));
	put_string(j, "value", contrast_value(model, trait->attribute).s);
}

static void put_traits(struct json *j, const struct contrast_view *view)
{
	json_key(j, "traits");
	json_array(j);
	for (size_t i = 0; i < view->traits->traits.count; i++) {
		const struct trait *trait = &view->traits->traits.items[i];

		json_object(j);
		put_trait(j, view, trait);
		put_u64(j, "slow_requests", trait->slow_requests);
		put_u64(j, "usual_requests", trait->usual_requests);
		put_real(j, "probability", trait->probability);
		put_string(j, "text", contrast_trait(view, trait).s);
		json_end(j);
	}
	json_end(j);
}

static void put_calls(struct json *j, const struct contrast_view *view)
{
	const struct contrast *c = view->contrast;

	json_key(j, "calls");
	json_array(j);
	for (size_t i = 0; i < view->traits->calls.count; i++) {
		const struct call_contrast *call = &view->traits->calls.items[i];
		const struct span *span = span_set_at(view->spans, call->span);

		json_object(j);
		put_string(j, "service", span_set_string(view->spans, span->service));
		put_string(j, "operation", span_set_string(view->spans, span->operation));
		put_real(j, "slow", (double)call->slow / c->slow.compared);
		put_real(j, "usual", (double)call->usual / c->usual.compared);
		put_u64(j, "slow_requests", call->slow_requests);
		put_u64(j, "usual_requests", call->usual_requests);
		json_end(j);
	}
	json_end(j);
}

static void put_period(struct json *j, const struct slow_period *period)
{
	if (!period->to)
		return;
	json_key(j, "period");
	json_object(j);
	put_u64(j, "from", period->from);
	put_u64(j, "to", period->to);
	put_u64(j, "slow_requests", period->slow_requests);
	put_u64(j, "usual_requests", period->usual_requests);
	json_end(j);
}

void contrast_json(struct json *j, const struct contrast_view *view)
{
	static const char *const verdicts[] = { [VERDICT_CAUSES] = "causes",
						[VERDICT_SPREAD] = "spread",
						[VERDICT_SAME] = "same",
						[VERDICT_NONE_SLOW] = "none slow",
						[VERDICT_TOO_FEW] = "too few" };
	const struct span *span = span_set_at(view->spans, view->request);

	json_object(j);
	put_string(j, "service", span_set_string(view->spans, span->service));
	put_string(j, "operation", span_set_string(view->spans, span->operation));
	put_u64(j, "requests", view->latency.count);
	put_u64(j, "p50", view->latency.p50);
	put_u64(j, "p95", view->latency.p95);
	put_u64(j, "p99", view->latency.p99);
	put_string(j, "verdict", verdicts[contrast_verdict(view)]);
	if (view->contrast) {
		put_side(j, "slow", &view->contrast->slow);
		put_side(j, "usual", &view->contrast->usual);
		put_mean(j, "difference", view->contrast->difference);
		put_causes(j, view);
		put_states(j, view->contrast);
		put_calls(j, view);
		put_traits(j, view);
		put_period(j, &view->traits->period);
	}
	json_end(j);
}
