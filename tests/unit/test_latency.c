/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/latency.h"

#include "test.h"

TEST(percentiles_are_nearest_ranks)
{
	latencies times = { 0 };

	for (nsec_t t = 200; t > 0; t--)
		*vec_push(&times) = t;

	struct latency l = latency_of(&times);

	CHECK_INT(l.count, 200);
	CHECK_INT(l.p50, 100);
	CHECK_INT(l.p95, 190);
	CHECK_INT(l.p99, 198);
	CHECK_INT(latency_at(&times, 99900), 200);
	CHECK_INT(latency_at(&times, 1), 1);
	vec_done(&times);
}

TEST(no_requests_have_no_percentiles)
{
	latencies times = { 0 };

	CHECK_INT(latency_of(&times).count, 0);
	CHECK_INT(latency_of(&times).p99, 0);
	CHECK_INT(latency_at(&times, 50000), 0);
}
