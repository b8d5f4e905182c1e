/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample - which requests get an account, if there are too many for all of them.
 *
 * A request is chosen with a probability proportional to its latency: half of all time should be
 * half of the accounts.  So the slowest ones are chosen for certain, and the others at random. Each
 * chosen request stands for 1 / probability requests; sums with these weights are unbiased
 * (Horvitz and Thompson, 1952).
 *
 * The sample is systematic: one random number chooses the first request, and the others follow
 * at equal distances of latency, so the size of a sample varies by at most one.
 */
#ifndef SONDE_TOP_SAMPLE_H
#define SONDE_TOP_SAMPLE_H

#include "base/vec.h"

struct sampled {
	size_t index;  /* of the request */
	double weight; /* number of requests that it stands for, at least 1 */
};

typedef VEC(struct sampled) samples;

/* A random number from 0 to 1, without 1.  The same seed gives the same numbers. */
double sample_random(uint64_t *seed);

/*
 * Appends a sample of about `size` of the requests with these latencies, all of them if `size` is
 * at least their number.  `size` can be a fraction.
 */
void sample_choose(const nsec_t *latencies, size_t count, double size, uint64_t *seed,
		   samples *ret);

#endif
