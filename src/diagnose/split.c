/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/split.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "base/sort.h"
#include "diagnose/profile_internal.h"

/*
 * Share of the variance that a split must explain.  With less, bands would be narrower by 16 % at
 * most (the root of 0.7), which is not worth fewer samples for each of them.  It also excludes
 * chance: for two parts with the fewest samples, the probability is 0.00015 (F = 17.7 with 1 and 38
 * degrees of freedom), and 0.24 % after the correction for all traits that a span can have.
 */
static const double LEAST_EXPLAINED = 0.3;

/* Share of the variance that one more cut between numbers must explain. */
static const double LEAST_GAIN = 0.02;

/* Standard deviation of a state, as a share of the mean own time, that makes it worth a split. */
static const double LEAST_DEVIATION = 0.1;

/* A trait of a sample. */
struct trait_cell {
	uint32_t column, sample; /* indexes */
	const struct span_trait *trait;
};

/* All values of one trait. */
struct trait_column {
	const struct span_trait *example;
	uint32_t first, count; /* in the cells */
	uint32_t last;         /* number of the last sample, counted from 1 */
};

struct search {
	const struct group *group;
	double *logs; /* of the time to be explained, by sample */
	VEC(struct trait_cell) found;
	VEC(struct trait_column) columns; /* in the order of their first sample */
	struct map index;                 /* hash of a key -> index + 1 */
	struct trait_cell *cells;         /* by column, then by sample */
};

static void search_done(struct search *s)
{
	free(s->logs);
	free(s->cells);
	vec_done(&s->found);
	vec_done(&s->columns);
	map_done(&s->index);
}

/* Whether a sample is one of those that choose; the others accept. */
static bool chooses(const struct search *s, const struct trait_cell *cell)
{
	return s->group->samples[cell->sample]->identity & 1;
}

static uint64_t key_hash(const struct span_trait *t)
{
	return XXH3_64bits_withSeed(t->key, strlen(t->key), 2 * t->kind + !t->text);
}

static void add_cell(struct search *s, uint32_t sample, const struct span_trait *trait)
{
	uint64_t *at = map_insert(&s->index, key_hash(trait));

	if (!*at) {
		*vec_push(&s->columns) = (struct trait_column){ .example = trait };
		*at = s->columns.count;
	}

	struct trait_column *column = &s->columns.items[*at - 1];

	if (column->last == sample + 1)
		return; /* a span can have an attribute twice: the first counts */
	column->last = sample + 1;
	column->count++;
	*vec_push(&s->found) = (struct trait_cell){ *at - 1, sample, trait };
}

static void collect(struct search *s)
{
	uint32_t next = 0;

	for (size_t i = 0; i < s->group->count; i++) {
		const struct kept_span *sample = s->group->samples[i];

		for (uint32_t t = 0; t < sample->trait_count; t++)
			add_cell(s, i, &sample->traits[t]);
	}
	s->cells = must_alloc(s->found.count * sizeof(*s->cells) + 1);
	for (size_t i = 0; i < s->columns.count; i++) {
		s->columns.items[i].first = next;
		next += s->columns.items[i].count;
		s->columns.items[i].count = 0;
	}
	for (size_t i = 0; i < s->found.count; i++) {
		struct trait_column *column = &s->columns.items[s->found.items[i].column];

		s->cells[column->first + column->count++] = s->found.items[i];
	}
}

static bool is_in_part(const struct split *split, uint32_t part, const struct span_trait *t)
{
	const struct split_part *p = &split->parts[part];

	if (split->is_text)
		return !p->text || strcmp(p->text, t->text) == 0;
	return t->number >= p->from && t->number <= p->to;
}

static int part_of_trait(const struct split *split, const struct span_trait *trait)
{
	for (uint32_t i = 0; i < split->part_count; i++)
		if (is_in_part(split, i, trait))
			return i;
	return -1;
}

int split_part_of(const struct split *split, const struct kept_span *span)
{
	for (uint32_t i = 0; i < span->trait_count; i++) {
		const struct span_trait *t = &span->traits[i];

		if (t->kind == split->kind && !t->text == !split->is_text &&
		    strcmp(t->key, split->key) == 0)
			return part_of_trait(split, t);
	}
	return -1;
}

struct sums {
	double count, sum, squares;
};

static void add_to(struct sums *s, double value)
{
	s->count++;
	s->sum += value;
	s->squares += value * value;
}

/* The sum of the squared distances from the mean. */
static double scatter(const struct sums *s)
{
	double scatter = s->count ? s->squares - s->sum * s->sum / s->count : 0;

	return scatter > 0 ? scatter : 0;
}

/* Kelley's epsilon squared of the samples of one half; negative values are chance. */
static double explained(const struct search *s, const struct trait_column *column,
			const struct split *split, bool choosing)
{
	struct sums parts[PARTS_MAX] = { 0 }, all = { 0 };
	double within = 0;

	for (uint32_t i = 0; i < column->count; i++) {
		const struct trait_cell *cell = &s->cells[column->first + i];
		int part = part_of_trait(split, cell->trait);

		if (part < 0 || chooses(s, cell) != choosing)
			continue;
		add_to(&parts[part], s->logs[cell->sample]);
		add_to(&all, s->logs[cell->sample]);
	}
	for (uint32_t i = 0; i < split->part_count; i++)
		within += scatter(&parts[i]);
	if (all.count <= split->part_count || scatter(&all) <= 0)
		return 0;
	return 1 - within / (all.count - split->part_count) / (scatter(&all) / (all.count - 1));
}

/* Numbers in order, with running sums: those of the first i items at index i. */
struct ladder {
	struct trait_cell *items;
	double *sums;       /* logs of those that choose */
	uint32_t *choosing; /* number of them */
};

/* Neighbouring numbers, and the best cut between two of them. */
struct number_range {
	size_t first, end, cut;
	double gain; /* scatter that the cut removes */
};

static bool is_number_first(const struct trait_cell *a, const struct trait_cell *b)
{
	return a->trait->number < b->trait->number;
}

/* Whether both halves have enough samples for a part. */
static bool has_enough(uint32_t choosing, uint32_t all)
{
	return choosing >= LEAST_OBSERVATIONS && all - choosing >= LEAST_OBSERVATIONS;
}

static struct number_range find_cut(const struct ladder *l, size_t first, size_t end)
{
	struct number_range s = { .first = first, .end = end };

	for (size_t i = first + 1; i < end; i++) {
		uint32_t below = l->choosing[i] - l->choosing[first];
		uint32_t above = l->choosing[end] - l->choosing[i];

		if (l->items[i].trait->number == l->items[i - 1].trait->number ||
		    !has_enough(below, i - first) || !has_enough(above, end - i))
			continue;

		double difference =
			(l->sums[i] - l->sums[first]) / below - (l->sums[end] - l->sums[i]) / above;
		double gain = difference * difference * below * above / (below + above);

		if (gain > s.gain) {
			s.gain = gain;
			s.cut = i;
		}
	}
	return s;
}

/* Cuts the range with the largest gain, until no cut is worth it.  Returns their number. */
static uint32_t cut_ranges(const struct ladder *l, size_t count, double least,
			   struct number_range ranges[PARTS_MAX])
{
	uint32_t n = 1;

	ranges[0] = find_cut(l, 0, count);
	while (n < PARTS_MAX) {
		struct number_range *best = &ranges[0];

		for (uint32_t i = 1; i < n; i++)
			if (ranges[i].gain > best->gain)
				best = &ranges[i];
		if (!best->cut || best->gain < least)
			break;
		ranges[n++] = find_cut(l, best->cut, best->end);
		*best = find_cut(l, best->first, best->cut);
	}
	return n;
}

static bool is_range_first(const struct number_range *a, const struct number_range *b)
{
	return a->first < b->first;
}

static void divide_numbers(const struct search *s, const struct trait_column *column,
			   struct split *ret)
{
	uint32_t count = column->count;
	_cleanup_(freep) struct trait_cell *items = must_alloc(count * sizeof(*items));
	_cleanup_(freep) double *sums = must_alloc((count + 1) * sizeof(*sums));
	_cleanup_(freep) uint32_t *choosing = must_alloc((count + 1) * sizeof(*choosing));
	struct ladder ladder = { items, sums, choosing };
	struct number_range ranges[PARTS_MAX];
	struct sums all = { 0 };

	memcpy(items, &s->cells[column->first], count * sizeof(*items));
	sort_items(items, count, is_number_first);
	for (uint32_t i = 0; i < count; i++) {
		bool is_choosing = chooses(s, &items[i]);
		double value = s->logs[items[i].sample];

		sums[i + 1] = sums[i] + (is_choosing ? value : 0);
		choosing[i + 1] = choosing[i] + is_choosing;
		if (is_choosing)
			add_to(&all, value);
	}
	ret->part_count = cut_ranges(&ladder, count, LEAST_GAIN * scatter(&all), ranges);
	sort_items(ranges, ret->part_count, is_range_first);
	for (uint32_t i = 0; i < ret->part_count; i++)
		ret->parts[i] = (struct split_part){ .from = items[ranges[i].first].trait->number,
						     .to = items[ranges[i].end - 1].trait->number };
}

/* A text, and how many samples have it. */
struct text_count {
	const char *text;
	uint32_t count, choosing;
};

static bool is_text_first(const struct trait_cell *a, const struct trait_cell *b)
{
	return strcmp(a->trait->text, b->trait->text) < 0;
}

static bool is_more_frequent(const struct text_count *a, const struct text_count *b)
{
	return a->count != b->count ? a->count > b->count : strcmp(a->text, b->text) < 0;
}

/* The texts of a column with enough samples; `others` are the samples without one of them. */
static size_t count_texts(const struct search *s, const struct trait_column *column,
			  struct text_count *ret, struct text_count *others)
{
	_cleanup_(freep) struct trait_cell *items = must_alloc(column->count * sizeof(*items));
	struct text_count now = { 0 };
	size_t count = 0;

	memcpy(items, &s->cells[column->first], column->count * sizeof(*items));
	sort_items(items, column->count, is_text_first);
	for (uint32_t i = 0; i < column->count; i++) {
		const char *text = items[i].trait->text;
		bool is_last = i + 1 == column->count || strcmp(text, items[i + 1].trait->text);

		now.text = text;
		now.count++;
		now.choosing += chooses(s, &items[i]);
		if (!is_last)
			continue;
		if (has_enough(now.choosing, now.count)) {
			ret[count++] = now;
		} else {
			others->count += now.count;
			others->choosing += now.choosing;
		}
		now = (struct text_count){ 0 };
	}
	return count;
}

static void divide_texts(const struct search *s, const struct trait_column *column,
			 struct split *ret)
{
	_cleanup_(freep) struct text_count *texts = must_alloc(column->count * sizeof(*texts));
	struct text_count others = { 0 };
	size_t count = count_texts(s, column, texts, &others);

	sort_items(texts, count, is_more_frequent);
	for (; count >= PARTS_MAX; count--) {
		others.count += texts[count - 1].count;
		others.choosing += texts[count - 1].choosing;
	}
	for (size_t i = 0; i < count; i++)
		ret->parts[i] = (struct split_part){ .text = texts[i].text };
	ret->part_count = count;
	if (count && has_enough(others.choosing, others.count))
		ret->parts[ret->part_count++] = (struct split_part){ 0 };
}

static struct split divide(const struct search *s, const struct trait_column *column)
{
	struct split split = { .key = column->example->key,
			       .kind = column->example->kind,
			       .is_text = column->example->text };

	if (split.is_text)
		divide_texts(s, column, &split);
	else
		divide_numbers(s, column, &split);
	return split;
}

/* The best split by attributes, or by other traits, if the other half accepts it. */
static bool find_best(const struct search *s, bool attributes, struct split *ret)
{
	const struct trait_column *best = NULL;
	double most = 0;

	for (size_t i = 0; i < s->columns.count; i++) {
		const struct trait_column *column = &s->columns.items[i];
		bool is_attribute = column->example->kind == SPAN_TRAIT_ATTRIBUTE;

		if (is_attribute != attributes || column->count * 2 < s->group->count)
			continue;

		struct split split = divide(s, column);
		double share = split.part_count > 1 ? explained(s, column, &split, true) : 0;

		if (share > most) {
			most = share;
			best = column;
			*ret = split;
		}
	}
	if (!best)
		return false;
	ret->explained = explained(s, best, ret, false);
	return ret->explained >= LEAST_EXPLAINED;
}

static double deviation_of(const struct sums *s)
{
	return sqrt(scatter(s) / s->count);
}

static bool varies(const struct sums *s, double cv)
{
	return deviation_of(s) > cv * s->sum / s->count;
}

/*
 * The times of a sample that depend on the program, with their sum as the total: a wait for a CPU
 * has reasons elsewhere, and on a busy host it would hide what a trait explains.
 */
static void program_times(const struct kept_span *sample, nsec_t ret[FEATURE_COUNT])
{
	features_of(sample, INTERVAL_ALL, ret);
	for (enum span_feature f = FEATURE_READY; f < FEATURE_STATES; f++) {
		ret[FEATURE_TOTAL] -= ret[f] < ret[FEATURE_TOTAL] ? ret[f] : ret[FEATURE_TOTAL];
		ret[f] = 0;
	}
}

/* The time to be explained: the total, or else the state that varies most; or FEATURE_COUNT. */
static enum span_feature varying_feature(const struct group *g, double cv)
{
	struct sums sums[FEATURE_COUNT] = { 0 };
	enum span_feature best = FEATURE_COUNT;
	double most;

	for (size_t i = 0; i < g->count; i++) {
		nsec_t times[FEATURE_COUNT];

		program_times(g->samples[i], times);
		for (enum span_feature f = 0; f <= FEATURE_TOTAL; f++)
			add_to(&sums[f], times[f]);
	}
	if (varies(&sums[FEATURE_TOTAL], cv))
		return FEATURE_TOTAL;
	most = LEAST_DEVIATION * sums[FEATURE_TOTAL].sum / g->count;
	for (enum span_feature f = 0; f < FEATURE_READY; f++)
		if (varies(&sums[f], cv) && deviation_of(&sums[f]) > most) {
			most = deviation_of(&sums[f]);
			best = f;
		}
	return best;
}

bool split_find(const struct group *g, const struct band_options *o, struct split *ret)
{
	enum span_feature feature = varying_feature(g, o->cv);
	_cleanup_(search_done) struct search s = { .group = g };

	if (feature == FEATURE_COUNT)
		return false;
	s.logs = must_alloc(g->count * sizeof(*s.logs));
	for (size_t i = 0; i < g->count; i++) {
		nsec_t times[FEATURE_COUNT];

		program_times(g->samples[i], times);
		s.logs[i] = log(times[feature] > o->floor ? times[feature] : o->floor);
	}
	collect(&s);
	return find_best(&s, true, ret) || find_best(&s, false, ret);
}
