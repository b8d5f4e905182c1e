/* SPDX-License-Identifier: Apache-2.0 */
#include "record/profile.h"

#include "test.h"

TEST(a_cpu_without_samples_is_noticed)
{
	CHECK_INT(profile_due(99, 2 * NSEC_PER_SEC), 198);
	CHECK_INT(profile_missing(198, 0), 198);
	CHECK_INT(profile_missing(198, 98), 100);
}

TEST(a_few_samples_less_are_not)
{
	CHECK_INT(profile_missing(198, 99), 0);
	CHECK_INT(profile_missing(198, 250), 0);
	CHECK_INT(profile_missing(9, 0), 0);
}
