/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "base/map.h"
#include "test.h"

TEST(an_empty_map_has_no_keys)
{
	struct map map = { 0 };
	uint64_t key, value;
	size_t pos = 0;

	CHECK(!map_find(&map, 0));
	CHECK(!map_find(&map, 7));
	CHECK(!map_remove(&map, 7));
	CHECK(!map_next(&map, &pos, &key, &value));
	map_done(&map);
}

TEST(a_new_key_has_the_value_0)
{
	struct map map = { 0 };

	CHECK_INT(*map_insert(&map, 7), 0);
	*map_insert(&map, 7) += 5;
	*map_insert(&map, 7) += 5;
	CHECK_INT(*map_find(&map, 7), 10);
	CHECK(map_remove(&map, 7));
	CHECK(!map_remove(&map, 7));
	CHECK_INT(*map_insert(&map, 7), 0);
	CHECK_INT(map.count, 1);
	map_done(&map);
}

TEST(any_key_works)
{
	const uint64_t keys[] = { 0, 1, 1ull << 32, 1ull << 63, UINT64_MAX, UINT64_MAX - 1 };
	struct map map = { 0 };

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_LEN(keys); i++)
			*map_insert(&map, keys[i]) = i + 100;
		for (size_t i = 0; i < ARRAY_LEN(keys); i++)
			CHECK_INT(*map_find(&map, keys[i]), i + 100);
		CHECK_INT(map.count, ARRAY_LEN(keys));
		for (size_t i = 0; i < ARRAY_LEN(keys); i++)
			CHECK(map_remove(&map, keys[i]));
		CHECK_INT(map.count, 0);
		CHECK(!map_find(&map, 0));
	}
	map_done(&map);
}

TEST(values_can_be_pointers)
{
	struct map map = { 0 };
	int x;

	map_insert_ptr(&map, 0, &x);
	CHECK(map_find_ptr(&map, 0) == &x);
	CHECK(!map_find_ptr(&map, 1));
	map_done(&map);
}

static void compare(const struct map *map, const uint64_t *want, size_t keys, uint64_t spread)
{
	uint64_t key, value;
	size_t pos = 0, seen = 0, there = 0;

	for (size_t i = 0; i < keys; i++) {
		const uint64_t *got = map_find(map, i * spread);

		there += want[i] != 0;
		CHECK_INT(got ? *got : 0, want[i]);
	}
	for (; map_next(map, &pos, &key, &value); seen++)
		CHECK(key % spread == 0 && value == want[key / spread]);
	CHECK_INT(map->count, there);
	CHECK_INT(seen, there);
}

/* Insert and remove keys that collide in various ways, and compare with a plain array. */
TEST(inserting_and_removing_matches_a_plain_array)
{
	const uint64_t spreads[] = { 1, 64, 4096, 1ull << 32, 0x100000001ull };
	enum { KEYS = 1009, STEPS = 50021 };
	uint64_t random = 1;

	for (size_t s = 0; s < ARRAY_LEN(spreads); s++) {
		uint64_t want[KEYS] = { 0 };
		struct map map = { 0 };

		for (uint64_t step = 1; step <= STEPS; step++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			size_t i = (random >> 33) % KEYS;

			if (random >> 63)
				want[i] = *map_insert(&map, i * spreads[s]) = step;
			else if (map_remove(&map, i * spreads[s]) != (want[i] != 0))
				CHECK(!"removed what was not there, or not what was");
			else
				want[i] = 0;
		}
		compare(&map, want, KEYS, spreads[s]);
		CHECK(map.room <= 4096);
		map_done(&map);
	}
}

/* The modular inverse of an odd number. */
static uint64_t inverse(uint64_t odd)
{
	uint64_t x = odd;

	for (int i = 0; i < 6; i++)
		x *= 2 - odd * x;
	return x;
}

/* The longest run of used slots, which is the most steps of a lookup. */
static size_t longest_run(const struct map *map)
{
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < 2 * map->room; i++) { /* a run can wrap around */
		run = map->slots[i % map->room].key ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

TEST(keys_chosen_to_collide_do_not_collide)
{
	enum { KEYS = 50000, STEPS_MAX = 400 };
	struct map product = { 0 }, series = { 0 }, high = { 0 };

	for (uint64_t i = 1; i <= KEYS; i++) {
		/* with multiplicative hashing, all keys had the same home slot */
		uint64_t key = i * inverse(0x9e3779b97f4a7c15);

		*map_insert(&product, key ^ key >> 32) = i;
		*map_insert(&series, i) = i;
		*map_insert(&high, i << 44) = i;
	}
	CHECK(longest_run(&product) < STEPS_MAX);
	CHECK(longest_run(&series) < STEPS_MAX);
	CHECK(longest_run(&high) < STEPS_MAX);
	map_done(&product);
	map_done(&series);
	map_done(&high);
}

static bool is_even(void *arg, uint64_t key, uint64_t *value)
{
	++*(size_t *)arg;
	*value += 1;
	return key % 2 == 0;
}

TEST(a_sweep_keeps_chosen_entries_and_gives_back_memory)
{
	struct map map = { 0 };
	size_t calls = 0, room;

	for (uint64_t key = 0; key < 10000; key++)
		*map_insert(&map, key) = 10 * key;
	room = map.room;
	map_sweep(&map, is_even, &calls);
	CHECK_INT(calls, 10000);
	CHECK_INT(map.count, 5000);
	CHECK(map.room <= room);
	for (uint64_t key = 0; key < 10000; key++) {
		const uint64_t *value = map_find(&map, key);

		CHECK((value == NULL) == key % 2);
		if (value)
			CHECK_INT(*value, 10 * key + 1);
	}
	for (uint64_t key = 10; key < 10000; key++)
		map_remove(&map, key);
	map_shrink(&map);
	CHECK_INT(map.count, 5);
	CHECK(map.room <= 64);
	CHECK_INT(*map_find(&map, 8), 81);
	map_done(&map);
	map_sweep(&map, is_even, &calls); /* an empty map */
	CHECK_INT(map.count, 0);
}
