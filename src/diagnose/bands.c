/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "diagnose/profile_internal.h"

/* Parts for which the bands of the others are computed: more cost more, and change little. */
enum { FOLDS = 4 };

/*
 * Share of the samples that are outside of a band, by the bands of other folds.  Without that, a
 * time with rare outliers would set the limit of all others.
 */
static const double OUTSIDE = 0.02;

/* A limit beyond the largest score, if the samples are too few to see one in a hundred. */
static const double BEYOND_LARGEST = 1.1;

/*
 * All times of all samples: a row for each sample, with a cell for each interval and feature, and
 * for all intervals together.
 */
struct matrix {
	const struct group *group;
	struct profile *profile;
	size_t cells; /* of a row */
	nsec_t *times;
	bool *has_cells; /* by sample: whether its intervals are comparable */
	uint8_t *fold;   /* by sample */
	double *scores;  /* by sample: of one cell, by the band of other folds */
	double *largest; /* by sample: the largest of all cells */
	double *order;
	nsec_t *room;
};

static struct interval_profile *interval_at(const struct matrix *m, size_t interval)
{
	return interval < m->profile->interval_count ? &m->profile->intervals[interval]
						     : &m->profile->all;
}

static uint32_t interval_number(const struct matrix *m, size_t interval)
{
	return interval < m->profile->interval_count ? interval : INTERVAL_ALL;
}

static bool has_interval(const struct matrix *m, size_t sample, size_t interval)
{
	return interval == m->profile->interval_count || m->has_cells[sample];
}

/* Whether a sample takes part in the band of a cell. */
static bool is_in(const struct matrix *m, size_t sample, size_t interval, enum span_feature feature)
{
	return has_interval(m, sample, interval) &&
	       feature_is_known(m->group->samples[sample], feature);
}

static nsec_t *row_of(const struct matrix *m, size_t sample, size_t interval)
{
	return &m->times[sample * m->cells + interval * FEATURE_COUNT];
}

static void fill_row(struct matrix *m, size_t sample)
{
	const struct learn_options *o = &m->group->baseline->options;
	const struct kept_span *s = m->group->samples[sample];

	m->has_cells[sample] = profile_has_intervals_of(m->profile, s);
	for (size_t i = 0; i <= m->profile->interval_count; i++) {
		if (!has_interval(m, sample, i))
			continue;

		const struct interval_profile *of = interval_at(m, i);
		bool matches = profile_features(m->profile, s, interval_number(m, i), o->gap_least,
						o->gap_most, row_of(m, sample, i));

		if (!matches && of->score_if_missing > m->largest[sample])
			m->largest[sample] = of->score_if_missing;
	}
}

typedef size_t part_fn(const struct group *group, size_t sample);

static size_t recording_of(const struct group *g, size_t sample)
{
	const struct baseline *b = g->baseline;
	size_t low = 0, high = b->recordings.count; /* by digest */

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		*(b->recordings.items[middle].digest <= g->samples[sample]->recording ? &low
										      : &high) =
			middle;
	}
	return low;
}

static size_t quarter_of(const struct group *g, size_t sample)
{
	return g->samples[sample]->quarter;
}

static size_t index_of(const struct group *g, size_t sample)
{
	return sample; /* by identity, which is random */
}

/* Returns whether there is more than one part. */
static bool divide_by(struct matrix *m, part_fn *part)
{
	bool several = false;

	for (size_t i = 0; i < m->group->count; i++) {
		m->fold[i] = part(m->group, i) % FOLDS;
		several |= m->fold[i] != m->fold[0];
	}
	return several;
}

/* By recording; those of one recording by time; otherwise by chance. */
static void divide(struct matrix *m)
{
	if (!divide_by(m, recording_of) && !divide_by(m, quarter_of))
		divide_by(m, index_of);
}

/* The band of a cell of all samples outside of one fold; of all samples if `fold` is FOLDS. */
static bool band_without(struct matrix *m, size_t interval, enum span_feature feature,
			 unsigned int fold, struct band *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < m->group->count; i++)
		if (m->fold[i] != fold && is_in(m, i, interval, feature))
			m->room[count++] = row_of(m, i, interval)[feature];
	if (count)
		*ret = band_of(m->room, count, &m->profile->band);
	return count;
}

static bool is_smaller(const double *a, const double *b)
{
	return *a < *b;
}

/* The score that a share of the samples exceeds; of too few, one beyond the largest. */
static double exceeded_by(double *scores, size_t count, double share)
{
	size_t rank = ceil((count + 1) * (1 - share));

	sort_items(scores, count, is_smaller);
	return rank <= count ? scores[rank - 1] : BEYOND_LARGEST * scores[count - 1];
}

static void score_fold(struct matrix *m, size_t interval, enum span_feature feature,
		       unsigned int fold)
{
	struct band band;

	if (!band_without(m, interval, feature, fold, &band))
		return;
	for (size_t i = 0; i < m->group->count; i++)
		if (m->fold[i] == fold && is_in(m, i, interval, feature))
			m->scores[i] = band_score(&band, row_of(m, i, interval)[feature],
						  &m->profile->band);
}

/* How much wider one side of a band must be, so that few samples are outside. */
static double widening(struct matrix *m, size_t interval, enum span_feature feature, int sign)
{
	size_t count = 0;
	double most;

	for (size_t i = 0; i < m->group->count; i++)
		if (is_in(m, i, interval, feature))
			m->order[count++] = sign * m->scores[i];
	most = count ? exceeded_by(m->order, count, OUTSIDE / 2) / m->profile->band.sigma : 1;
	return most > 1 ? most : 1;
}

static nsec_t longest_of(const struct matrix *m, size_t interval, enum span_feature feature)
{
	nsec_t longest = 0;

	for (size_t i = 0; i < m->group->count; i++)
		if (is_in(m, i, interval, feature) && row_of(m, i, interval)[feature] > longest)
			longest = row_of(m, i, interval)[feature];
	return longest;
}

/* Widens a band, but not beyond all samples: an outlier has made the band of all wider already. */
static void widen(const struct matrix *m, size_t interval, enum span_feature feature, double below,
		  double above)
{
	struct band *band = &interval_at(m, interval)->bands[feature];
	double high = band->high, most = BEYOND_LARGEST * longest_of(m, interval, feature);

	band_widen(band, below, above, &m->profile->band);
	if (band->high > most)
		band->high = most > high ? most : high;
}

static void learn_cell(struct matrix *m, size_t interval, enum span_feature feature)
{
	struct band *band = &interval_at(m, interval)->bands[feature];
	double above, below;

	if (!band_without(m, interval, feature, FOLDS, band))
		return;
	memset(m->scores, 0, m->group->count * sizeof(m->scores[0]));
	for (unsigned int fold = 0; fold < FOLDS; fold++)
		score_fold(m, interval, feature, fold);
	above = widening(m, interval, feature, 1);
	below = widening(m, interval, feature, -1);
	widen(m, interval, feature, below, above);
	for (size_t i = 0; i < m->group->count; i++) {
		double score = m->scores[i] > 0 ? m->scores[i] / above : -m->scores[i] / below;

		if (is_in(m, i, interval, feature) && score > m->largest[i])
			m->largest[i] = score;
	}
}

static double limit_of(struct matrix *m)
{
	double sigma = m->profile->band.sigma;
	double limit = exceeded_by(m->largest, m->group->count, FALSE_FLAGS);

	return limit > sigma ? limit : sigma;
}

void bands_learn(const struct group *g, struct profile *p)
{
	size_t cells = (p->interval_count + 1) * FEATURE_COUNT;
	_cleanup_(freep) nsec_t *times = must_alloc(g->count * cells * sizeof(*times));
	_cleanup_(freep) nsec_t *room = must_alloc(g->count * sizeof(*room));
	_cleanup_(freep) double *largest = must_alloc(g->count * sizeof(*largest));
	_cleanup_(freep) double *scores = must_alloc(g->count * sizeof(*scores));
	_cleanup_(freep) double *order = must_alloc(g->count * sizeof(*order));
	_cleanup_(freep) bool *has_cells = must_alloc(g->count);
	_cleanup_(freep) uint8_t *fold = must_alloc(g->count);
	struct matrix m = { g, p, cells, times, has_cells, fold, scores, largest, order, room };

	divide(&m);
	for (size_t i = 0; i < g->count; i++)
		fill_row(&m, i);
	for (size_t interval = 0; interval <= p->interval_count; interval++)
		for (enum span_feature f = 0; f < FEATURE_COUNT; f++)
			learn_cell(&m, interval, f);
	p->limit = limit_of(&m);
	/* there is no pattern of all intervals: what they skip has a mean, but no band */
	p->all.bands[FEATURE_SKIPPED] = (struct band){ 0 };
	for (size_t i = 0; i < p->interval_count; i++)
		p->all.bands[FEATURE_SKIPPED].mean += p->intervals[i].bands[FEATURE_SKIPPED].mean;
}
