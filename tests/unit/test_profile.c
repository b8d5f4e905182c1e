/* SPDX-License-Identifier: Apache-2.0 */
#include "record/kernel/profile.h"

#include "test.h"

TEST(busy_time_excludes_idle_and_steal_time)
{
	const nsec_t tick = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	nsec_t busy[3] = { 1, 1, 1 };

	profile_parse_busy("cpu  9 9 9 9 9 9 9 9 9 9\n"
			   "cpu0 100 100 100 1 2 100 100 4 100 100\n"
			   "cpu2 5 0 0 0 0 0 0 0 0 0\n"
			   "cpu9999999999999999999999 1 1 1 1 1 1 1 1\n"
			   "intr 1 2 3\n",
			   100 * tick, busy, ARRAY_LEN(busy));
	CHECK_INT(busy[0], 93 * tick);
	CHECK_INT(busy[1], 1);
	CHECK_INT(busy[2], 100 * tick);
}

TEST(a_cpu_without_samples_is_detected)
{
	CHECK_INT(profile_due(99, 1, 2 * NSEC_PER_SEC + 1, 3 * NSEC_PER_SEC), 198);
	CHECK_INT(profile_missing(198, 0), 198);
	CHECK_INT(profile_missing(198, 98), 100);
}

TEST(no_samples_are_due_on_a_cpu_that_was_idle_or_offline)
{
	CHECK_INT(profile_due(997, 1, 99 * NSEC_PER_MSEC, 99 * NSEC_PER_MSEC), 0);
	CHECK_INT(profile_due(997, 1, NSEC_PER_SEC, 5 * NSEC_PER_SEC), 0);
	CHECK_INT(profile_due(997, 0, 2 * NSEC_PER_SEC, 2 * NSEC_PER_SEC), 0);
	CHECK_INT(profile_due(997, 2 * NSEC_PER_SEC, 0, NSEC_PER_SEC), 0);
	CHECK_INT(profile_due(997, 2 * NSEC_PER_SEC, NSEC_PER_SEC, NSEC_PER_SEC), 0);
}

TEST(a_few_missing_samples_are_tolerated)
{
	CHECK_INT(profile_missing(198, 99), 0);
	CHECK_INT(profile_missing(198, 250), 0);
	CHECK_INT(profile_missing(9, 0), 0);
}
