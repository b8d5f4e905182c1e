/* SPDX-License-Identifier: Apache-2.0 */
/* What a finding of a diagnosis is, why, and how it can be seen in one span. */
#include <stdio.h>
#include <string.h>

#include "analyse/causes.h"
#include "diagnose/sequence.h"
#include "report/diagnosis.h"
#include "report/explain.h"

const char *finding_kind(const struct finding *finding)
{
	switch (finding->feature) {
	case FEATURE_PATTERN:
		return "pattern";
	case FEATURE_QUEUEING:
		return "queueing";
	case FEATURE_TOTAL:
	case FEATURE_SKIPPED:
		return "total";
	default:
		return "state";
	}
}

/* The state whose causes explain a feature; queueing has none, and interrupts are running time. */
static uint8_t state_of(const struct finding *finding)
{
	if (finding->feature == FEATURE_IRQ)
		return STATE_RUNNING;
	return finding->feature < FEATURE_STATES ? feature_letter(finding->feature) : 0;
}

static void sum_causes(const struct diagnosis *d, const struct finding *finding,
		       struct cause_sum *sum)
{
	bool by_state = finding->feature < FEATURE_STATES || finding->feature == FEATURE_QUEUEING;

	for (uint32_t i = 0; i < finding->example_count; i++) {
		struct account account = { 0 };

		account_of_span_brief(d->spans, d->tested.items[finding->examples[i]].span,
				      &account);
		if (by_state)
			cause_sum_add_state(sum, d->spans, &account, state_of(finding));
		else
			cause_sum_add(sum, d->spans, &account);
		account_done(&account);
	}
	cause_sum_finish(sum);
}

bool finding_cause_find(const struct diagnosis *d, const struct finding *finding,
			struct finding_cause *ret)
{
	_cleanup_(cause_sum_done) struct cause_sum sum = { 0 };
	_cleanup_(account_done) struct account account = { 0 };

	if (finding->is_faster)
		return false;
	sum_causes(d, finding, &sum);
	if (!sum.groups.count || !sum.total)
		return false;

	const struct cause_group *first = &sum.groups.items[0];

	account_of_span(d->spans, first->example, &account);
	ret->text = explain_cause(d->spans, &account, first);
	ret->culprit = culprit_of(d->spans, &account, first->node);
	ret->share = (double)first->time / sum.total;
	return true;
}

static void put_letters(char *text, size_t size, const uint8_t *letters, size_t count)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		if (used + 8 > size) {
			snprintf(text + used, size - used, "-...");
			return;
		}
		used += snprintf(text + used, size - used, i ? "-%c" : "%c", letters[i]);
	}
}

/* The largest deviation in the state of the finding, in one interval if there is any. */
static const struct deviation *deviation_of(const struct verdict *verdict,
					    const struct finding *finding)
{
	const struct deviation *found = NULL;

	for (size_t i = 0; i < verdict->deviations.count; i++) {
		const struct deviation *d = &verdict->deviations.items[i];

		if (d->feature == finding->feature &&
		    (!found || (found->interval == INTERVAL_ALL && d->interval != INTERVAL_ALL)))
			found = d;
	}
	return found;
}

bool finding_evidence_find(const struct diagnosis *d, const struct finding *finding,
			   struct finding_evidence *ret)
{
	const struct tested *t = &d->tested.items[finding->examples[0]];
	struct verdicts verdicts = { d->baseline, d->profiles };
	struct verdict verdict = { 0 };
	struct sequence s = { 0 };
	const struct deviation *found;

	if (!finding->example_count || !t->kept)
		return false;
	verdict_find(&verdicts, t->kept, t->profile->kind == KEY_POSITION, &verdict);
	found = deviation_of(&verdict, finding);
	memset(ret, 0, sizeof(*ret));
	if (found) {
		ret->interval = found->interval;
		ret->deviation = *found;
	}
	if (found && found->interval != INTERVAL_ALL) {
		const struct interval_profile *of = &t->profile->intervals[found->interval];

		if (of->pattern_count)
			snprintf(ret->expected, sizeof(ret->expected), "%s", of->expression);
		sequence_of(t->kept, found->interval, of->longest ?: 1, &s);
		put_letters(ret->observed, sizeof(ret->observed), s.letters.items, s.letters.count);
	}
	sequence_done(&s);
	verdict_done(&verdict);
	return found;
}
