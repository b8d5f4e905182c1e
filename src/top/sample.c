/* SPDX-License-Identifier: Apache-2.0 */
#include "top/sample.h"

double sample_random(uint64_t *seed)
{
	/* splitmix64 (Steele, Lea, Flood, 2014) */
	uint64_t z = *seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return ((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* No request is too short to be chosen. */
static double latency_of_request(nsec_t latency)
{
	return latency ? latency : 1;
}

/*
 * The latency from which on a request is chosen for certain; below, the probability is latency /
 * step.  Each round moves the requests above the step to the certain ones, which lowers the step
 * for the others; after a few rounds nothing changes.
 */
static double find_step(const nsec_t *latencies, size_t count, double size)
{
	double step = 0;

	for (;;) {
		double sum = 0;
		size_t certain = 0;

		for (size_t i = 0; i < count; i++) {
			double x = latency_of_request(latencies[i]);

			if (step && x >= step)
				certain++;
			else
				sum += x;
		}

		double next = size > certain ? sum / (size - certain) : step;

		if (step && next >= step)
			return step;
		step = next;
	}
}

void sample_choose(const nsec_t *latencies, size_t count, double size, uint64_t *seed, samples *ret)
{
	bool all = size >= count;
	double step = all || size <= 0 ? 0 : find_step(latencies, count, size);
	double until = sample_random(seed) * step;

	for (size_t i = 0; i < count && size > 0; i++) {
		double x = latency_of_request(latencies[i]);

		if (all || x >= step) {
			*vec_push(ret) = (struct sampled){ i, 1 };
			continue;
		}
		until -= x;
		if (until >= 0)
			continue;
		*vec_push(ret) = (struct sampled){ i, step / x };
		until += step;
	}
}
