/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quantile.h"

#include "test.h"

static uint64_t add_many(struct quantiles *q, uint64_t key, uint64_t value, size_t count)
{
	uint64_t limit = 0;

	while (count--)
		limit = quantiles_add(q, key, value);
	return limit;
}

TEST(a_percentile_needs_ten_values_above_it)
{
	_cleanup_(quantiles_freep) struct quantiles *q = quantiles_new(95000, 4);

	CHECK_INT(quantiles_needs(q), 200);
	CHECK_INT(add_many(q, 1, 100, 200), 0);
	CHECK(quantiles_add(q, 1, 100) >= 100);
	CHECK_INT(quantiles_add(q, 2, 100), 0);
}

TEST(small_values_are_exact)
{
	_cleanup_(quantiles_freep) struct quantiles *q = quantiles_new(50000, 4);

	for (uint64_t value = 0; value <= 30; value++)
		quantiles_add(q, 1, value);
	CHECK_INT(quantiles_add(q, 1, 15), 15);
}

TEST(large_values_are_exact_to_three_percent)
{
	static const uint64_t values[] = { 33, 1000, 123456789, 1ull << 40, UINT64_MAX };

	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		_cleanup_(quantiles_freep) struct quantiles *q = quantiles_new(50000, 4);
		uint64_t limit = add_many(q, 0, values[i], 50);

		CHECK(limit >= values[i] && limit - values[i] <= values[i] / 32);
	}
}

/* The percentile is computed again only after 1/64 more values. */
TEST(the_limit_is_the_percentile_of_the_values_before)
{
	_cleanup_(quantiles_freep) struct quantiles *q = quantiles_new(90000, 4);
	uint64_t limit = 0;

	for (size_t round = 0; round < 10; round++)
		for (uint64_t i = 1; i <= 100; i++)
			limit = quantiles_add(q, 1, i * 1000);
	CHECK(limit >= 88000 && limit <= 94000);
}

TEST(a_percentile_follows_its_values)
{
	_cleanup_(quantiles_freep) struct quantiles *q = quantiles_new(90000, 4);

	add_many(q, 1, 1000, 10000);
	CHECK(add_many(q, 1, 50000, 10000) >= 50000);
	CHECK(add_many(q, 1, 1000, 50000) <= 1031);
}

TEST(the_least_used_key_is_given_up)
{
	_cleanup_(quantiles_freep) struct quantiles *q = quantiles_new(50000, 8);

	for (uint64_t key = 0; key < 7; key++)
		add_many(q, key, 100, 100 + key);
	for (uint64_t key = 100; key < 10000; key++)
		quantiles_add(q, key, 7);
	for (uint64_t key = 0; key < 7; key++)
		CHECK(quantiles_add(q, key, 100) >= 100);
	CHECK_INT(add_many(q, 9999, 7, 19), 0); /* has had one value, and needs twenty */
	CHECK_INT(quantiles_add(q, 9999, 7), 7);
}

TEST(a_key_that_is_given_up_leaves_nothing_behind)
{
	_cleanup_(quantiles_freep) struct quantiles *q = quantiles_new(50000, 1);

	add_many(q, 1, UINT64_MAX, 30);
	CHECK_INT(add_many(q, 2, 5, 20), 0);
	CHECK_INT(quantiles_add(q, 2, 5), 5);
}

TEST(a_key_that_is_no_longer_used_gives_way)
{
	_cleanup_(quantiles_freep) struct quantiles *q = quantiles_new(50000, 2);

	add_many(q, 1, 100, 100000);
	add_many(q, 2, 100, 50000);
	quantiles_add(q, 3, 100);
	CHECK(quantiles_add(q, 2, 100));
	CHECK_INT(quantiles_add(q, 1, 100), 0);
}
