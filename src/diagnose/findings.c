/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/findings.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"

/* Spans of an operation that chance flags with less than this probability are a finding. */
static const double LEAST_CHANCE = 1e-4;

double findings_chance(uint64_t k, uint64_t n, double p)
{
	double sum = 0;

	if (k <= n * p)
		return 1; /* at most as many as expected */
	for (uint64_t i = k; i <= n; i++) {
		double term = exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) +
				  i * log(p) + (n - i) * log1p(-p));

		sum += term;
		if (term < sum * 1e-6)
			break; /* terms fall faster than a geometric series */
	}
	return sum < 1 ? sum : 1;
}

void tested_set_verdict(struct tested *t, const struct verdict *verdict)
{
	t->profile = verdict->profile;
	t->is_flagged = verdict->is_flagged;
	t->is_flagged_plainly = verdict->is_flagged_plainly;
	memcpy(t->times, verdict->times, sizeof(t->times));
	for (size_t i = 0; i < verdict->deviations.count; i++) {
		const struct deviation *of = &verdict->deviations.items[i];
		uint32_t bit = 1u << of->feature;

		if (of->feature == FEATURE_PATTERN || of->score > 0)
			t->slower |= bit;
		else
			t->faster |= bit;
	}
}

static void add_excess(struct tested_operation *op, const struct tested *t, enum span_feature f)
{
	struct excess *sum = t->slower >> f & 1 ? &op->longer[f] : &op->shorter[f];
	double excess = (double)t->times[f] - t->profile->all.bands[f].mean;

	sum->all += excess;
	sum->on_path += t->on_path * excess;
}

static void count_features(struct tested_operation *op, const struct tested *t)
{
	bool slow = op->profile && t->duration > op->profile->p99;

	op->slow += slow;
	op->patterns += t->slower >> FEATURE_PATTERN & 1;
	for (enum span_feature f = 0; f < FEATURE_COUNT; f++) {
		op->slower[f] += t->slower >> f & 1;
		op->faster[f] += t->faster >> f & 1;
		op->slow_flagged[f] += slow && (t->slower >> f & 1);
		if ((t->slower | t->faster) >> f & 1)
			add_excess(op, t, f);
	}
}

void tested_operation_add(struct tested_operation *op, const struct tested *t)
{
	if (!t->profile) {
		op->unknown++;
		return;
	}
	if (t->is_lost) {
		op->lost++;
		return;
	}
	op->spans++;
	op->flagged += t->is_flagged;
	op->flagged_plainly += t->is_flagged_plainly;
	count_features(op, t);
}

static void add_up(struct diagnosis *d)
{
	for (size_t i = 0; i < d->tested.count; i++) {
		const struct tested *t = &d->tested.items[i];

		tested_operation_add(&d->operations.items[t->operation], t);
		if (!t->profile || t->is_lost)
			continue;
		d->spans_tested++;
		d->flagged += t->is_flagged;
		d->flagged_plainly += t->is_flagged_plainly;
	}
}

struct common_states {
	const struct tested_operation *op;
	double chance;
	struct common_state *items;
	size_t count;
};

static void add_common(struct common_states *found, uint32_t feature, bool faster, uint64_t flagged)
{
	const struct tested_operation *op = found->op;
	bool is_pattern = feature == FEATURE_PATTERN;
	struct excess excess = { 0 };

	if (!is_pattern)
		excess = faster ? op->shorter[feature] : op->longer[feature];
	if (findings_chance(flagged, op->spans, FALSE_FLAGS) >= found->chance)
		return;
	if (!is_pattern && (faster ? excess.all >= 0 : excess.all <= 0))
		return; /* one interval is outside of its band, and others make up for it */
	found->items[found->count++] = (struct common_state){ feature, faster, flagged, excess };
}

size_t findings_common_states(const struct tested_operation *op, double chance,
			      struct common_state ret[COMMON_STATES_MAX])
{
	static const enum span_feature rest[] = { FEATURE_TOTAL, FEATURE_SKIPPED };
	struct common_states found = { .op = op, .chance = chance, .items = ret };

	for (enum span_feature f = 0; f < FEATURE_COUNT; f++) {
		if (f == FEATURE_TOTAL || f == FEATURE_SKIPPED)
			continue;
		add_common(&found, f, false, op->slower[f]);
		add_common(&found, f, true, op->faster[f]);
	}
	for (size_t i = 0; i < ARRAY_LEN(rest) && !found.count; i++) {
		add_common(&found, rest[i], false, op->slower[rest[i]]);
		add_common(&found, rest[i], true, op->faster[rest[i]]);
	}
	if (!found.count)
		add_common(&found, FEATURE_PATTERN, false, op->patterns);
	return found.count;
}

static void find_of_operation(struct diagnosis *d, uint32_t operation)
{
	struct common_state states[COMMON_STATES_MAX];
	size_t count =
		findings_common_states(&d->operations.items[operation], LEAST_CHANCE, states);

	for (size_t i = 0; i < count; i++) {
		const struct common_state *s = &states[i];
		struct finding f = { .operation = operation,
				     .feature = s->feature,
				     .is_faster = s->is_faster,
				     .flagged = s->flagged,
				     .excess = s->excess };

		if (d->slower > 0 && s->excess.on_path > 0)
			f.share = s->excess.on_path / d->slower;
		*vec_push(&d->findings) = f;
	}
}

static bool is_finding_first(const struct finding *a, const struct finding *b)
{
	if (a->is_faster != b->is_faster)
		return b->is_faster;
	if (a->excess.on_path != b->excess.on_path)
		return fabs(a->excess.on_path) > fabs(b->excess.on_path);
	return fabs(a->excess.all) > fabs(b->excess.all);
}

static bool is_shorter(const nsec_t *a, const nsec_t *b)
{
	return *a < *b;
}

static double excess_of(const struct finding *f, const struct tested *t)
{
	double excess;

	if (f->feature == FEATURE_PATTERN)
		return t->duration;
	excess = (double)t->times[f->feature] - t->profile->all.bands[f->feature].mean;
	return f->is_faster ? -excess : excess;
}

/* Spans by their excess, so that the first are the examples of a finding. */
struct candidate {
	double excess;
	uint32_t tested; /* index */
};

static bool is_candidate_first(const struct candidate *a, const struct candidate *b)
{
	return a->excess != b->excess ? a->excess > b->excess : a->tested < b->tested;
}

/* The compared spans of each operation: indexes, in the order of `first`. */
struct by_operation {
	uint32_t *first, *items;
};

static struct by_operation group_tested(const struct diagnosis *d)
{
	struct by_operation g = { must_alloc((d->operations.count + 2) * sizeof(uint32_t)),
				  must_alloc((d->tested.count + 1) * sizeof(uint32_t)) };

	for (size_t i = 0; i < d->tested.count; i++)
		g.first[d->tested.items[i].operation + 2]++;
	for (size_t i = 2; i < d->operations.count + 2; i++)
		g.first[i] += g.first[i - 1];
	for (size_t i = 0; i < d->tested.count; i++)
		g.items[g.first[d->tested.items[i].operation + 1]++] = i;
	return g;
}

static bool deviates(const struct finding *f, const struct tested *t)
{
	return (f->is_faster ? t->faster : t->slower) >> f->feature & 1;
}

/* The part of a divided profile that most of the deviating spans belong to; NULL if there is none.
 */
static const struct profile *main_part(const struct diagnosis *d, const struct candidate *found,
				       size_t count, uint64_t *ret_flagged)
{
	const struct profile *best = NULL;
	struct map counts = { 0 };
	uint64_t most = 0;

	for (size_t i = 0; i < count; i++) {
		const struct profile *p = d->tested.items[found[i].tested].profile;
		uint64_t n = ++*map_insert(&counts, (uintptr_t)p);

		if (n > most) {
			most = n;
			best = p;
		}
	}
	map_done(&counts);
	*ret_flagged = most;
	return best && best->part_of ? best : NULL;
}

/* The spans with the largest excess; of a part, if the finding has one. */
static void choose_examples(const struct diagnosis *d, struct candidate *found, size_t count,
			    struct finding *f)
{
	sort_items(found, count, is_candidate_first);
	f->part = main_part(d, found, count, &f->part_flagged);
	for (size_t i = 0; i < count && f->example_count < EXAMPLES_MAX; i++)
		if (!f->part || d->tested.items[found[i].tested].profile == f->part)
			f->examples[f->example_count++] = found[i].tested;
	if (f->feature != FEATURE_PATTERN && f->example_count)
		f->expected = d->tested.items[f->examples[0]].profile->all.bands[f->feature];
}

static void complete(const struct diagnosis *d, const struct by_operation *g, struct finding *f)
{
	uint32_t from = g->first[f->operation], to = g->first[f->operation + 1];
	_cleanup_(freep) nsec_t *times = must_alloc((to - from + 1) * sizeof(*times));
	_cleanup_(freep) struct candidate *found = must_alloc((to - from + 1) * sizeof(*found));
	size_t count = 0, examples = 0;

	for (uint32_t i = from; i < to; i++) {
		const struct tested *t = &d->tested.items[g->items[i]];

		if (t->profile && !t->is_lost && deviates(f, t))
			found[examples++] = (struct candidate){ excess_of(f, t), g->items[i] };
	}
	choose_examples(d, found, examples, f);
	for (uint32_t i = from; i < to; i++) {
		const struct tested *t = &d->tested.items[g->items[i]];

		if (!t->profile || t->is_lost || (f->part && t->profile != f->part))
			continue;
		times[count++] = f->feature != FEATURE_PATTERN ? t->times[f->feature] : 0;
	}
	f->part_spans = count;
	sort_items(times, count, is_shorter);
	f->observed = count ? times[count / 2] : 0;
}

static bool is_type_first(const struct unknown_type *a, const struct unknown_type *b)
{
	return a->traces != b->traces ? a->traces > b->traces : a->example.i < b->example.i;
}

/*
 * The share of traces with a type that is not in the baseline, if nothing changed: that of the
 * types it has once (Good and Turing).
 */
static double unseen_share(const struct baseline *b)
{
	uint64_t once = 0, traces = 0;

	for (size_t i = 0; i < b->types.count; i++) {
		once += b->types.items[i].traces == 1;
		traces += b->types.items[i].traces;
	}
	return (once + 1.0) / (traces + 1.0);
}

static void judge_types(struct diagnosis *d)
{
	double share = unseen_share(d->baseline);

	sort_items(d->unknown_types.items, d->unknown_types.count, is_type_first);
	for (size_t i = 0; i < d->unknown_types.count; i++) {
		struct unknown_type *type = &d->unknown_types.items[i];

		type->is_chance = findings_chance(type->traces, d->traces, share) >= LEAST_CHANCE;
		d->of_unknown_type += type->traces;
	}
	d->has_new_types = findings_chance(d->of_unknown_type, d->traces, share) < LEAST_CHANCE;
}

void findings_find(struct diagnosis *d)
{
	struct by_operation g;

	add_up(d);
	for (size_t i = 0; i < d->operations.count; i++) {
		double change = d->operations.items[i].change;

		d->change += change;
		d->slower += change > 0 ? change : 0;
	}
	for (size_t i = 0; i < d->operations.count; i++)
		find_of_operation(d, i);
	sort_items(d->findings.items, d->findings.count, is_finding_first);
	g = group_tested(d);
	for (size_t i = 0; i < d->findings.count; i++)
		complete(d, &g, &d->findings.items[i]);
	free(g.first);
	free(g.items);
	judge_types(d);
}
