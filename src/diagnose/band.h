/* SPDX-License-Identifier: Apache-2.0 */
/*
 * band - the usual range of a time, and how far another time is from it.
 *
 * Times of programs are skewed: three deviations below the mean are often below zero, so that
 * "faster" could never be detected.  Bands are therefore computed from the logarithm of times.
 * Times that vary a lot, such as a wait that half of the requests have, do not follow
 * any such curve; their band is taken from their quantiles.
 *
 * Times below a floor count as the floor: a state that is absent from the baseline is outside of
 * its band only above the floor, and microseconds are not compared with nanoseconds.
 *
 * A score is the distance from the middle in units in which the band ends at `sigma`.  So scores of
 * different times can be compared, and one limit holds for all times of a span.
 */
#ifndef SONDE_DIAGNOSE_BAND_H
#define SONDE_DIAGNOSE_BAND_H

#include "base/base.h"

struct band_options {
	nsec_t floor;
	double sigma; /* half width of a band, in standard deviations */
	double cv;    /* coefficient of variation above which quantiles are used */
};

struct band {
	double low, middle, high; /* ns; all 0: unknown */
	double mean, deviation;   /* ns; of the paper's rule */
	bool by_quantiles;
};

/* Of at least one time.  Changes the order of the times. */
struct band band_of(nsec_t *times, size_t count, const struct band_options *options);

/* Moves the ends away from the middle, by a factor of their distance in log time. */
void band_widen(struct band *band, double below, double above, const struct band_options *options);

/* Negative below the middle. */
double band_score(const struct band *band, nsec_t time, const struct band_options *options);

/* The score of an event with this probability, on the same scale. */
double band_score_of_probability(double probability);

#endif
