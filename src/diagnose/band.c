/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/band.h"

#include <math.h>

#include "base/sort.h"

/* Bands are not narrower than this: the clock and the caches of a CPU make as much difference. */
static const double LEAST_DEVIATION = 0.05;

/* Logarithms that differ by less are equal. */
static const double ROUNDING = 1e-9;

static bool is_shorter(const nsec_t *a, const nsec_t *b)
{
	return *a < *b;
}

static double log_time(double time, const struct band_options *o)
{
	return log(time > o->floor ? time : o->floor);
}

/* The probability that a normal variable is above `sigma`. */
static double tail(double sigma)
{
	return 0.5 * erfc(sigma / M_SQRT2);
}

double band_score_of_probability(double probability)
{
	double low = -10, high = 10;

	for (int i = 0; i < 60; i++) { /* bisection: called once per pattern */
		double middle = (low + high) / 2;

		*(tail(middle) > probability ? &low : &high) = middle;
	}
	return low;
}

static void fit_moments(struct band *band, const nsec_t *times, size_t count, double *ret_log_mean,
			double *ret_log_deviation, const struct band_options *o)
{
	double sum = 0, squares = 0, log_sum = 0, log_squares = 0;

	for (size_t i = 0; i < count; i++) {
		sum += times[i];
		log_sum += log_time(times[i], o);
	}
	band->mean = sum / count;
	*ret_log_mean = log_sum / count;
	for (size_t i = 0; i < count; i++) {
		double d = times[i] - band->mean, l = log_time(times[i], o) - *ret_log_mean;

		squares += d * d;
		log_squares += l * l;
	}
	band->deviation = sqrt(squares / count);
	*ret_log_deviation = sqrt(log_squares / count);
}

/* The quantiles that a normal variable has at `sigma`; of few times, the extremes. */
static void fit_quantiles(struct band *band, nsec_t *times, size_t count,
			  const struct band_options *o)
{
	size_t outside = tail(o->sigma) * count;

	sort_items(times, count, is_shorter);
	band->by_quantiles = true;
	band->low = times[outside];
	band->middle = times[count / 2];
	band->high = times[count - 1 - outside];
}

struct band band_of(nsec_t *times, size_t count, const struct band_options *o)
{
	struct band band = { 0 };
	double mean, deviation, least = exp(o->sigma * LEAST_DEVIATION);

	fit_moments(&band, times, count, &mean, &deviation, o);
	if (band.deviation > o->cv * band.mean) {
		fit_quantiles(&band, times, count, o);
	} else {
		band.low = exp(mean - o->sigma * deviation);
		band.middle = exp(mean);
		band.high = exp(mean + o->sigma * deviation);
	}
	if (band.middle < o->floor)
		band.middle = o->floor;
	if (band.high < band.middle * least)
		band.high = band.middle * least;
	if (band.low > band.middle / least)
		band.low = band.middle / least;
	return band;
}

void band_widen(struct band *band, double below, double above, const struct band_options *o)
{
	double middle = log_time(band->middle, o);

	band->low = exp(middle - below * (middle - log_time(band->low, o)));
	band->high = exp(middle + above * (log_time(band->high, o) - middle));
}

double band_score(const struct band *band, nsec_t time, const struct band_options *o)
{
	double middle = log_time(band->middle, o), distance = log_time(time, o) - middle;

	if (distance >= 0)
		return o->sigma * (distance / (log_time(band->high, o) - middle));
	/* a band that reaches down to the floor has no time below it */
	double below = middle - log_time(band->low, o);

	return below > ROUNDING ? o->sigma * (distance / below) : 0;
}
