/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/verdict.h"

#include <math.h>
#include <string.h>

#include "analyse/mine.h"
#include "base/sort.h"
#include "diagnose/sequence.h"

void verdict_done(struct verdict *verdict)
{
	vec_done(&verdict->deviations);
}

static const struct profile *profile_of(const struct verdicts *v, const struct kept_span *sample,
					bool by_type)
{
	for (enum key_kind kind = by_type ? KEY_POSITION : KEY_SUBTREE; kind < KEY_KINDS; kind++) {
		const struct profile *p = profiles_find(v->profiles, kind, sample->keys[kind]);

		if (p && p->samples >= LEAST_OBSERVATIONS)
			return p;
	}
	return NULL;
}

static void consider(struct verdict *verdict, const struct deviation *deviation)
{
	double score = fabs(deviation->score);

	if (score > verdict->score)
		verdict->score = score;
	if (score > verdict->profile->limit)
		*vec_push(&verdict->deviations) = *deviation;
}

static void check_times(struct verdict *verdict, const struct kept_span *sample,
			const struct interval_profile *of, uint32_t interval,
			const nsec_t times[FEATURE_COUNT])
{
	const struct band_options *o = &verdict->profile->band;

	for (enum span_feature f = 0; f < FEATURE_COUNT; f++) {
		if (!of->bands[f].high || !feature_is_known(sample, f))
			continue;

		struct deviation d = { .interval = interval,
				       .feature = f,
				       .score = band_score(&of->bands[f], times[f], o),
				       .observed = times[f],
				       .band = of->bands[f] };

		consider(verdict, &d);
	}
}

/* The paper's rule, without parts of profiles. */
static bool is_usual_plainly(const struct verdicts *v, const struct profile *profile,
			     const struct kept_span *sample, uint32_t interval)
{
	const struct learn_options *o = &v->baseline->options;
	const struct interval_profile *of = &profile->intervals[interval];
	struct mine_gap gap = { o->gap_least, o->gap_most };
	uint32_t positions[MINE_LONGEST];
	struct sequence s = { 0 };
	bool usual;

	if (!of->pattern_count)
		return true;
	sequence_of(sample, interval, of->longest, &s);
	usual = mine_find(s.letters.items, s.letters.count, of->patterns[0].letters,
			  of->patterns[0].length, &gap, positions);
	for (uint32_t i = 0; usual && i < of->patterns[0].length; i++)
		usual &= fabs(s.times.items[positions[i]] - of->states[i].mean) <=
			 o->sigma * of->states[i].deviation;
	sequence_done(&s);
	return usual;
}

static void check_interval(const struct verdicts *v, struct verdict *verdict,
			   const struct kept_span *sample, uint32_t interval)
{
	const struct learn_options *o = &v->baseline->options;
	const struct profile *profile = verdict->profile;
	const struct interval_profile *of = &profile->intervals[interval];
	nsec_t times[FEATURE_COUNT];
	bool matches =
		profile_features(profile, sample, interval, o->gap_least, o->gap_most, times);

	check_times(verdict, sample, of, interval, times);
	verdict->times[FEATURE_SKIPPED] += times[FEATURE_SKIPPED];
	if (!matches) {
		struct deviation d = { .interval = interval,
				       .feature = FEATURE_PATTERN,
				       .score = of->score_if_missing };

		consider(verdict, &d);
	}
}

static bool is_larger(const struct deviation *a, const struct deviation *b)
{
	return fabs(a->score) > fabs(b->score);
}

void verdict_find(const struct verdicts *v, const struct kept_span *sample, bool by_type,
		  struct verdict *ret)
{
	const struct profile *whole = profile_of(v, sample, by_type);

	ret->deviations.count = 0;
	ret->is_flagged = ret->is_flagged_plainly = false;
	ret->score = 0;
	ret->profile = whole ? profile_part(whole, sample) : NULL;
	features_of(sample, INTERVAL_ALL, ret->times);
	if (!whole)
		return;
	if (profile_has_intervals_of(whole, sample))
		for (uint32_t i = 0; i < sample->interval_count; i++)
			ret->is_flagged_plainly |= !is_usual_plainly(v, whole, sample, i);
	if (profile_has_intervals_of(ret->profile, sample))
		for (uint32_t i = 0; i < sample->interval_count; i++)
			check_interval(v, ret, sample, i);
	check_times(ret, sample, &ret->profile->all, INTERVAL_ALL, ret->times);
	for (enum span_feature f = 0; f < FEATURE_COUNT; f++)
		ret->expected[f] = ret->profile->all.bands[f].mean;
	sort_items(ret->deviations.items, ret->deviations.count, is_larger);
	ret->is_flagged = ret->deviations.count;
}
