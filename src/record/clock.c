/* SPDX-License-Identifier: Apache-2.0 */
#include "record/clock.h"

int64_t clock_offset(clockid_t clock)
{
	nsec_t best = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < 5; i++) {
		nsec_t before = clock_now(), other = clock_read(clock), after = clock_now();

		if (after - before < best) {
			best = after - before;
			offset = (int64_t)(other - (before + after) / 2);
		}
	}
	return offset;
}

void clock_pause(nsec_t ns)
{
	struct timespec ts = { .tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC };

	nanosleep(&ts, NULL);
}
