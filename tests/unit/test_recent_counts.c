/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of what sonde annotate sends: numbers per trace, and amounts per second. */
#include "annotate/recent_counts.h"

#include "base/budget.h"
#include "test.h"

enum { MANY = 100003 };

TEST(a_key_has_its_number_until_many_others_came)
{
	_cleanup_(recent_counts_freep) struct recent_counts *c = recent_counts_new();
	uint64_t key = MANY;

	*recent_counts_at(c, &key, sizeof(key)) += 7;
	CHECK_INT(*recent_counts_at(c, &key, sizeof(key)), 7);
	for (uint64_t other = 0; other < MANY; other++)
		CHECK_INT(*recent_counts_at(c, &other, sizeof(other)), 0);
	CHECK_INT(*recent_counts_at(c, &key, sizeof(key)), 0);
}

TEST(a_key_that_is_used_is_not_replaced)
{
	_cleanup_(recent_counts_freep) struct recent_counts *c = recent_counts_new();
	uint64_t key = MANY;

	*recent_counts_at(c, &key, sizeof(key)) = 1;
	for (uint64_t other = 0; other < MANY; other++) {
		recent_counts_at(c, &other, sizeof(other));
		CHECK_INT(*recent_counts_at(c, &key, sizeof(key)), 1);
	}
}

TEST(a_budget_is_used_up_and_comes_back)
{
	struct budget b = { .rate = 1000 };
	nsec_t now = 5 * NSEC_PER_SEC;

	CHECK(budget_take(&b, now, 1000));
	CHECK(!budget_take(&b, now, 1));
	CHECK(!budget_take(&b, now + NSEC_PER_SEC / 10, 101));
	CHECK(budget_take(&b, now + NSEC_PER_SEC / 10, 100));
	CHECK(!budget_take(&b, now + 100 * NSEC_PER_SEC, 1001));
	CHECK(budget_take(&b, now + 100 * NSEC_PER_SEC, 1000));
}

TEST(a_budget_comes_back_in_steps_of_any_length)
{
	struct budget b = { .rate = 3 };
	nsec_t now = NSEC_PER_SEC;
	unsigned int taken = 0;

	CHECK(budget_take(&b, now, 3));
	for (size_t i = 0; i < 1000; i++)
		taken += budget_take(&b, now += NSEC_PER_SEC / 100, 1);
	CHECK(taken >= 29 && taken <= 30);
}
