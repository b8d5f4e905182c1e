/* SPDX-License-Identifier: Apache-2.0 */
#include "report/export/otlp_latency.h"

#include "report/explain.h"

bool otlp_latency_find(const struct span_set *spans, span_id span, struct otlp_latency *ret)
{
	_cleanup_(account_done) struct account account = { 0 };
	_cleanup_(cause_sum_done) struct cause_sum causes = { 0 };
	bool found = false;

	*ret = (struct otlp_latency){ 0 };
	account_of_span(spans, span, &account);
	for (size_t i = 1; i < account.nodes.count; i++) {
		const struct node *node = &account.nodes.items[i];

		if (!node->is_leaf || !node->state || node->state == STATE_GAP)
			continue;
		ret->states[node->state & 127] += node->time;
		found = true;
	}
	cause_sum_add(&causes, spans, &account);
	cause_sum_finish(&causes);
	if (found && causes.groups.count && causes.total) {
		ret->share = (double)causes.groups.items[0].time / causes.total;
		ret->cause = explain_cause(spans, &account, &causes.groups.items[0]);
	}
	return found;
}

void otlp_latency_put(const struct otlp_latency *latency, struct otlp_put *put)
{
	otlp_put_states(put, "latency", latency->states);
	otlp_put_text(put, "sonde.cause", latency->cause.s);
	otlp_put_real(put, "sonde.cause_share", latency->share);
}
