/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "analyse/fold.h"
#include "analyse/mine.h"
#include "base/sort.h"
#include "diagnose/profile_internal.h"

/* Closed patterns that a profile keeps: the first is expected, the others are for people. */
enum { PATTERNS_KEPT = 8 };

/*
 * Mask words that the miner may examine for one interval: a fifth of a second.  Loops of a
 * different length in each request exceed it; their sequences are folded then.
 */
static const uint64_t MOST_WORK = 200 * 1000 * 1000;

/*
 * The same for each letter, and at least: a baseline with many keys, of few letters each that make
 * the miner examine everything, must not take hours.
 */
static const uint64_t WORK_PER_LETTER = 2000, LEAST_WORK = 1000 * 1000;

/* A distinct sequence. */
struct distinct {
	uint64_t hash;
	const uint8_t *letters;
	uint32_t length;
};

static bool is_hash_first(const struct distinct *a, const struct distinct *b)
{
	return a->hash < b->hash;
}

typedef VEC(struct distinct) distinct_list;
typedef VEC(struct mine_sequence) mine_list;

static bool is_usable(const struct kept_span *sample, uint32_t interval_count)
{
	return sample->has_states && sample->interval_count == interval_count;
}

/* Equal sequences become one with a weight. */
static void add_up(distinct_list *all, mine_list *ret)
{
	sort_items(all->items, all->count, is_hash_first);
	for (size_t i = 0; i < all->count; i++) {
		const struct distinct *d = &all->items[i];

		if (i && d->hash == all->items[i - 1].hash)
			ret->items[ret->count - 1].weight++;
		else
			*vec_push(ret) = (struct mine_sequence){ d->letters, d->length, 1 };
	}
}

static void collect(const struct group *g, uint32_t interval, uint32_t interval_count,
		    uint32_t longest, struct arena *arena, mine_list *ret)
{
	distinct_list all = { 0 };
	struct sequence s = { 0 };

	for (size_t i = 0; i < g->count; i++) {
		if (!is_usable(g->samples[i], interval_count))
			continue;
		sequence_of(g->samples[i], interval, longest, &s);

		uint8_t *letters = arena_alloc(arena, s.letters.count + 1);

		if (s.letters.count)
			memcpy(letters, s.letters.items, s.letters.count);
		*vec_push(&all) = (struct distinct){ XXH3_64bits(letters, s.letters.count), letters,
						     s.letters.count };
	}
	add_up(&all, ret);
	vec_done(&all);
	sequence_done(&s);
}

static void keep_patterns(const struct mine_result *mined, struct arena *arena,
			  struct interval_profile *ret)
{
	size_t count = mined->count < PATTERNS_KEPT ? mined->count : PATTERNS_KEPT;
	struct pattern *patterns = arena_alloc(arena, count * sizeof(*patterns) + 1);

	for (size_t i = 0; i < count; i++) {
		const struct mine_pattern *from = &mined->patterns[i];
		uint8_t *letters = arena_alloc(arena, from->length + 1);

		memcpy(letters, from->letters, from->length);
		patterns[i] = (struct pattern){ letters, from->length, from->support };
	}
	ret->patterns = patterns;
	ret->pattern_count = count;
	ret->is_truncated = mined->is_truncated || count < mined->count;
}

static uint64_t work_for(const mine_list *sequences)
{
	uint64_t work = LEAST_WORK;

	for (size_t i = 0; i < sequences->count; i++)
		work += WORK_PER_LETTER * sequences->items[i].length * sequences->items[i].weight;
	return work < MOST_WORK ? work : MOST_WORK;
}

/* Mines the sequences, those above `longest` letters folded.  Returns whether all were examined. */
static bool mine(const struct group *g, uint32_t interval, uint32_t interval_count,
		 uint32_t longest, struct arena *arena, struct interval_profile *ret)
{
	const struct learn_options *o = &g->baseline->options;
	_cleanup_(arena_freep) struct arena *scratch = arena_new();
	struct mine_options options = mine_defaults;
	struct mine_result mined;
	mine_list sequences = { 0 };
	bool is_complete;

	collect(g, interval, interval_count, longest, scratch, &sequences);
	ret->sequences = 0;
	for (size_t i = 0; i < sequences.count; i++)
		ret->sequences += sequences.items[i].weight;
	options.support = mine_support(o->support, ret->sequences);
	options.gap = (struct mine_gap){ o->gap_least, o->gap_most };
	options.closed = o->closed_at_ends ? MINE_CLOSED_ENDS : MINE_CLOSED_ALL;
	options.max_work = work_for(&sequences);
	mine_patterns(sequences.items, sequences.count, &options, &mined);
	ret->longest = longest;
	keep_patterns(&mined, arena, ret);
	is_complete = !mined.is_truncated;
	mine_result_done(&mined);
	vec_done(&sequences);
	return is_complete;
}

/* Adds the times of an appearance to sums and sums of squares. */
static void add_times(const struct sequence *s, const uint32_t *positions, uint32_t length,
		      double *sums, double *squares)
{
	for (uint32_t i = 0; i < length; i++) {
		double time = s->times.items[positions[i]];

		sums[i] += time;
		squares[i] += time * time;
	}
}

static const char *keep_text(struct arena *arena, char *text)
{
	size_t size = strlen(text) + 1;
	const char *kept = memcpy(arena_alloc(arena, size), text, size);

	free(text);
	return kept;
}

/*
 * Mean and deviation of each state of the expected pattern, in its leftmost appearances, and
 * which states are repeated there.
 */
static void time_states(const struct group *g, uint32_t interval, uint32_t interval_count,
			struct arena *arena, struct interval_profile *ret)
{
	const struct pattern *p = &ret->patterns[0];
	struct mine_gap gap = { g->baseline->options.gap_least, g->baseline->options.gap_most };
	struct state_time *states = arena_alloc(arena, p->length * sizeof(*states) + 1);
	double sums[MINE_LONGEST] = { 0 }, squares[MINE_LONGEST] = { 0 };
	uint32_t positions[MINE_LONGEST];
	_cleanup_(fold_tally_freep) struct fold_tally *tally =
		fold_tally_new(p->letters, p->length);
	struct sequence s = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < g->count; i++) {
		if (!is_usable(g->samples[i], interval_count))
			continue;
		sequence_of(g->samples[i], interval, ret->longest, &s);
		if (!mine_find(s.letters.items, s.letters.count, p->letters, p->length, &gap,
			       positions))
			continue;
		add_times(&s, positions, p->length, sums, squares);
		fold_tally_add(tally, positions, s.is_folded ? &s.folded : NULL, 1);
		count++;
	}
	for (uint32_t i = 0; i < p->length && count; i++) {
		double mean = sums[i] / count, variance = squares[i] / count - mean * mean;

		states[i] = (struct state_time){ mean, variance > 0 ? sqrt(variance) : 0 };
	}
	ret->states = states;
	ret->expression = keep_text(arena, fold_tally_text(tally));
	sequence_done(&s);
}

void patterns_learn(const struct group *g, uint32_t interval, uint32_t interval_count,
		    struct arena *arena, struct interval_profile *ret)
{
	if (!mine(g, interval, interval_count, FOLD_THRESHOLD, arena, ret))
		mine(g, interval, interval_count, 0, arena, ret);
	if (!ret->pattern_count)
		return;
	time_states(g, interval, interval_count, arena, ret);

	uint64_t missing = ret->sequences - ret->patterns[0].support;

	/* as if one more sequence had missed it: no number of sequences proves that none can */
	ret->score_if_missing = band_score_of_probability((missing + 1.0) / (ret->sequences + 1.0));
}

bool profile_features(const struct profile *profile, const struct kept_span *sample,
		      uint32_t interval, uint32_t gap_least, uint32_t gap_most,
		      nsec_t ret[FEATURE_COUNT])
{
	struct mine_gap gap = { gap_least, gap_most };
	uint32_t positions[MINE_LONGEST];
	struct sequence s = { 0 };
	nsec_t all = 0, matched = 0;

	features_of(sample, interval, ret);
	if (interval == INTERVAL_ALL || !profile->intervals[interval].pattern_count)
		return true;

	const struct interval_profile *of = &profile->intervals[interval];
	const struct pattern *p = &of->patterns[0];

	sequence_of(sample, interval, of->longest, &s);

	bool matches =
		mine_find(s.letters.items, s.letters.count, p->letters, p->length, &gap, positions);

	for (size_t i = 0; i < s.times.count; i++)
		all += s.times.items[i];
	for (uint32_t i = 0; matches && i < p->length; i++)
		matched += s.times.items[positions[i]];
	ret[FEATURE_SKIPPED] = matches ? all - matched : 0;
	sequence_done(&s);
	return matches;
}
