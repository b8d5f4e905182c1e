/* SPDX-License-Identifier: Apache-2.0 */
/* latency - percentiles of the latency of requests, by nearest rank. */
#ifndef SONDE_ANALYSE_LATENCY_H
#define SONDE_ANALYSE_LATENCY_H

#include "base/base.h"
#include "base/vec.h"

struct latency {
	size_t count;
	nsec_t p50, p95, p99; /* 0 without any request */
};

typedef VEC(nsec_t) latencies;

/* Sorts the times. */
struct latency latency_of(latencies *times);

/* The same for any percentile, in thousandths of a percent; 0 without any request. */
nsec_t latency_at(latencies *times, unsigned int thousandths);

#endif
