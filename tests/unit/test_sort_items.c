/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"

#include "test.h"

struct item {
	uint32_t key, index;
};

static size_t comparisons;

static bool is_before(const struct item *a, const struct item *b)
{
	comparisons++;
	return a->key < b->key;
}

/* Sorts `count` items with keys below `keys`; checks order and stability. */
static void check_random(size_t count, uint32_t keys, uint32_t seed)
{
	struct item *items = must_alloc((count + 1) * sizeof(*items));

	for (size_t i = 0; i < count; i++) {
		seed = seed * 1664525 + 1013904223;
		items[i] = (struct item){ (seed >> 8) % keys, i };
	}
	sort_items(items, count, is_before);
	for (size_t i = 1; i < count; i++)
		CHECK(items[i - 1].key < items[i].key ||
		      (items[i - 1].key == items[i].key && items[i - 1].index < items[i].index));
	free(items);
}

TEST(items_are_in_order_and_equal_ones_stay_so)
{
	for (uint32_t seed = 1; seed < 40; seed++)
		for (size_t count = 0; count < 40; count++)
			check_random(count, seed, seed);
	check_random(10007, 1000000, 3);
	check_random(10007, 3, 3);
}

TEST(items_in_order_take_one_pass)
{
	struct item items[1000];

	for (uint32_t i = 0; i < ARRAY_LEN(items); i++)
		items[i] = (struct item){ i / 2, i };
	comparisons = 0;
	sort_items(items, ARRAY_LEN(items), is_before);
	CHECK_INT(comparisons, ARRAY_LEN(items) - 1);
}

TEST(the_reverse_order_takes_n_log_n)
{
	static struct item items[1 << 14];

	for (uint32_t i = 0; i < ARRAY_LEN(items); i++)
		items[i] = (struct item){ ARRAY_LEN(items) - i, i };
	comparisons = 0;
	sort_items(items, ARRAY_LEN(items), is_before);
	CHECK(comparisons < 3 * 14 * ARRAY_LEN(items));
	CHECK_INT(items[0].key, 1);
	CHECK_INT(items[ARRAY_LEN(items) - 1].key, ARRAY_LEN(items));
}
