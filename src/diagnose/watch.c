/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/watch.h"

#include <math.h>

#include "base/hash.h"
#include "base/sort.h"
#include "diagnose/findings.h"

/* Chance flags so many spans with less than this probability: about once in a week of seconds. */
static const double WATCH_CHANCE = 1e-6;

struct watch_second {
	struct tested_operation sums;
	double observed[2][FEATURE_COUNT]; /* ns of flagged spans: slower, faster */
};

/* An operation in a group. */
struct watched {
	uint64_t group;
	uint64_t second;               /* the last one with a span */
	const struct profile *profile; /* of its last compared span */
	enum key_kind compared_by[FEATURE_COUNT + 1];
	struct watch_second seconds[WATCH_SECONDS]; /* by second modulo their number */
};

struct watch {
	struct verdicts verdicts;
	struct verdict verdict; /* reused */
	struct map index;       /* group and operation -> struct watched */
	uint64_t second;
};

struct watch *watch_new(const struct baseline *baseline, const struct profiles *profiles)
{
	struct watch *w = must_alloc(sizeof(*w));

	w->verdicts = (struct verdicts){ baseline, profiles };
	return w;
}

void watch_free(struct watch *w)
{
	size_t pos = 0;
	uint64_t key, value;

	if (!w)
		return;
	while (map_next(&w->index, &pos, &key, &value))
		free((void *)(uintptr_t)value);
	map_done(&w->index);
	verdict_done(&w->verdict);
	free(w);
}

const char *key_kind_name(enum key_kind kind)
{
	static const char *const names[KEY_KINDS] = { "position", "subtree", "operation" };

	return names[kind];
}

static uint64_t key_of(uint64_t group, const struct observation *o)
{
	return hash_number(group) ^ o->name;
}

/* Whether a second of an operation is one of the last seconds of the watch. */
static bool is_recent(const struct watch *w, uint64_t second)
{
	return second + WATCH_SECONDS > w->second;
}

static bool keep_recent(void *arg, uint64_t key, uint64_t *value)
{
	struct watched *of = (void *)(uintptr_t)*value;
	bool stays = is_recent(arg, of->second);

	(void)key;
	if (!stays)
		free(of);
	return stays;
}

void watch_advance(struct watch *w, uint64_t second)
{
	if (second <= w->second)
		return;
	w->second = second;
	map_sweep(&w->index, keep_recent, w);
}

/* Empties the seconds since the last span of an operation. */
static void advance(struct watched *of, uint64_t second)
{
	if (second - of->second >= WATCH_SECONDS)
		of->second = second - WATCH_SECONDS;
	while (of->second < second)
		of->seconds[++of->second % WATCH_SECONDS] = (struct watch_second){ 0 };
}

/* NULL if there are too many. */
static struct watched *watched_of(struct watch *w, uint64_t group, uint64_t key)
{
	struct watched *of = map_find_ptr(&w->index, key);

	if (of || w->index.count >= WATCHED_MAX)
		return of;
	of = must_alloc(sizeof(*of));
	of->group = group;
	of->second = w->second;
	map_insert_ptr(&w->index, key, of);
	return of;
}

static void count_deviations(struct watched *of, struct watch_second *now, const struct tested *t)
{
	for (uint32_t f = 0; f <= FEATURE_COUNT; f++) {
		if (!((t->slower | t->faster) >> f & 1))
			continue;
		if (t->profile->kind > of->compared_by[f])
			of->compared_by[f] = t->profile->kind;
		if (f < FEATURE_COUNT)
			now->observed[t->slower >> f & 1 ? 0 : 1][f] += t->times[f];
	}
}

/*
 * Every thread with known states runs.  Otherwise, states that are merely unknown would be missing
 * in the span, or new in it.
 */
static bool is_comparable(const struct profile *profile, const struct observation *o)
{
	return o->has_states == (profile->all.bands[FEATURE_RUNNING].mean > 0);
}

static const struct verdict *compare(struct watch *w, const struct observation *o, bool by_type)
{
	struct kept_span span = kept_span_without_names(o);

	verdict_find(&w->verdicts, &span, by_type, &w->verdict);
	if (w->verdict.profile && !is_comparable(w->verdict.profile, o)) {
		w->verdict.profile = NULL;
		w->verdict.is_flagged = w->verdict.is_flagged_plainly = false;
		w->verdict.deviations.count = 0;
	}
	return &w->verdict;
}

const struct verdict *watch_compare(struct watch *w, const struct observation *o)
{
	return compare(w, o, false);
}

const struct verdict *watch_add(struct watch *w, uint64_t group, const struct observation *o,
				bool is_in_trace)
{
	bool by_type = is_in_trace && baseline_type(w->verdicts.baseline, o->type);
	struct tested t = { .is_lost = o->is_lost, .duration = o->duration, .on_path = 1 };
	struct watched *of;

	if (!compare(w, o, by_type)->profile || o->is_lost)
		return &w->verdict;
	of = watched_of(w, group, key_of(group, o));
	if (!of)
		return &w->verdict;
	tested_set_verdict(&t, &w->verdict);
	advance(of, w->second);
	of->profile = t.profile;
	tested_operation_add(&of->seconds[w->second % WATCH_SECONDS].sums, &t);
	count_deviations(of, &of->seconds[w->second % WATCH_SECONDS], &t);
	return &w->verdict;
}

static void add_second(struct watch_second *sum, const struct watch_second *s)
{
	sum->sums.spans += s->sums.spans;
	sum->sums.patterns += s->sums.patterns;
	for (enum span_feature f = 0; f < FEATURE_COUNT; f++) {
		sum->sums.slower[f] += s->sums.slower[f];
		sum->sums.faster[f] += s->sums.faster[f];
		sum->sums.longer[f].all += s->sums.longer[f].all;
		sum->sums.shorter[f].all += s->sums.shorter[f].all;
		sum->observed[0][f] += s->observed[0][f];
		sum->observed[1][f] += s->observed[1][f];
	}
}

static struct watch_second sum_of(const struct watch *w, const struct watched *of)
{
	struct watch_second sum = { 0 };

	for (uint64_t age = 0; age < WATCH_SECONDS && age <= of->second; age++)
		if (is_recent(w, of->second - age))
			add_second(&sum, &of->seconds[(of->second - age) % WATCH_SECONDS]);
	return sum;
}

bool watch_leaves(const struct watch *w, uint64_t group, const struct observation *o)
{
	const struct watched *of = map_find_ptr(&w->index, key_of(group, o));
	struct common_state states[COMMON_STATES_MAX];
	struct watch_second sum;

	if (!of)
		return false;
	sum = sum_of(w, of);
	return findings_common_states(&sum.sums, WATCH_CHANCE, states) > 0;
}

static nsec_t mean_of(double sum, uint64_t count)
{
	return sum > 0 && count ? llround(sum / count) : 0;
}

static struct watched_state state_of(const struct watched *of, const struct watch_second *sum,
				     const struct common_state *s)
{
	struct watched_state ret = { .group = of->group,
				     .service = of->profile->service,
				     .operation = of->profile->operation,
				     .feature = s->feature,
				     .is_faster = s->is_faster,
				     .spans = sum->sums.spans,
				     .flagged = s->flagged,
				     .compared_by = of->compared_by[s->feature] };

	if (s->feature == FEATURE_PATTERN)
		return ret;

	double observed = sum->observed[s->is_faster][s->feature];

	ret.observed = mean_of(observed, s->flagged);
	ret.usual = mean_of(observed - s->excess.all, s->flagged);
	return ret;
}

/* ns in all deviating spans. */
static double excess_of(const struct watched_state *s)
{
	return s->flagged * fabs((double)s->observed - s->usual);
}

static bool is_first(const struct watched_state *a, const struct watched_state *b)
{
	if (a->group != b->group)
		return a->group < b->group;
	if (a->is_faster != b->is_faster)
		return b->is_faster;
	if (excess_of(a) != excess_of(b))
		return excess_of(a) > excess_of(b);
	return a->operation.i != b->operation.i ? a->operation.i < b->operation.i
						: a->feature < b->feature;
}

static void add_operation(const struct watch *w, const struct watched *of,
			  struct watch_summary *ret)
{
	struct common_state states[COMMON_STATES_MAX];
	struct watch_second sum = sum_of(w, of);
	size_t count = findings_common_states(&sum.sums, WATCH_CHANCE, states);

	*map_insert(&ret->compared, of->group) += sum.sums.spans;
	for (size_t i = 0; i < count; i++)
		*vec_push(&ret->states) = state_of(of, &sum, &states[i]);
}

void watch_sum(const struct watch *w, struct watch_summary *ret)
{
	size_t pos = 0;
	uint64_t key, value;

	*ret = (struct watch_summary){ 0 };
	while (map_next(&w->index, &pos, &key, &value))
		add_operation(w, (void *)(uintptr_t)value, ret);
	sort_items(ret->states.items, ret->states.count, is_first);
	for (size_t i = ret->states.count; i-- > 0;)
		*map_insert(&ret->first, ret->states.items[i].group) = i + 1;
}

void watch_summary_done(struct watch_summary *summary)
{
	vec_done(&summary->states);
	map_done(&summary->first);
	map_done(&summary->compared);
}
