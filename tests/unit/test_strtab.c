/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strtab.h"

#include <time.h>

#include "test.h"

TEST(equal_strings_share_an_id)
{
	_cleanup_(strtab_freep) struct strtab *tab = strtab_new();
	str_id a = strtab_add(tab, "futex_wait");
	str_id b = strtab_add(tab, "futex_wai");
	char copy[] = "futex_wait";

	CHECK_INT(a.i, 1);
	CHECK_INT(b.i, 2);
	CHECK_INT(strtab_add(tab, copy).i, a.i);
	CHECK_INT(strtab_count(tab), 3);
	CHECK_STR(strtab_get(tab, a), "futex_wait");
}

TEST(the_empty_string_is_number_0)
{
	_cleanup_(strtab_freep) struct strtab *tab = strtab_new();

	CHECK_INT(strtab_count(tab), 1);
	CHECK_INT(strtab_add(tab, "").i, 0);
	CHECK_INT(strtab_add_n(tab, "x", 0).i, 0);
	CHECK_STR(strtab_get(tab, (str_id){ 0 }), "");
	CHECK_STR(strtab_get(tab, (str_id){ 1 }), "");
	CHECK_STR(strtab_get(tab, (str_id){ UINT32_MAX }), "");
}

TEST(a_string_ends_at_its_length_or_at_a_nul)
{
	_cleanup_(strtab_freep) struct strtab *tab = strtab_new();
	const char comm[16] = "redis-server\0xy";

	CHECK_STR(strtab_get(tab, strtab_add_n(tab, comm, 5)), "redis");
	CHECK_STR(strtab_get(tab, strtab_add_n(tab, comm, sizeof(comm))), "redis-server");
	CHECK_INT(strtab_add(tab, "redis-server").i, strtab_add_n(tab, comm, sizeof(comm)).i);
}

TEST(many_strings_keep_their_ids_and_addresses)
{
	_cleanup_(strtab_freep) struct strtab *tab = strtab_new();
	const char *early = NULL;
	char text[32];

	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 1; i <= 100003; i++) {
			snprintf(text, sizeof(text), "%u", i);
			str_id id = strtab_add(tab, text);

			if (id.i != i || strcmp(strtab_get(tab, id), text) != 0) {
				CHECK_INT(id.i, i);
				return;
			}
			if (i == 1 && round == 0)
				early = strtab_get(tab, id);
		}
	}
	CHECK_INT(strtab_count(tab), 100004);
	CHECK(early == strtab_get(tab, (str_id){ 1 }));
}

TEST(a_string_can_be_longer_than_an_arena_block)
{
	_cleanup_(strtab_freep) struct strtab *tab = strtab_new();
	enum { LEN = 300 * 1000 };
	_cleanup_(freep) char *text = must_alloc(LEN + 1);

	memset(text, 'x', LEN);
	str_id id = strtab_add(tab, text);

	CHECK_INT(strlen(strtab_get(tab, id)), LEN);
	CHECK_INT(strtab_add(tab, text).i, id.i);
	text[LEN - 1] = 'y';
	CHECK(strtab_add(tab, text).i != id.i);
}

/* The modular inverse of an odd number. */
static uint64_t inverse(uint64_t odd)
{
	uint64_t x = odd;

	for (int i = 0; i < 6; i++)
		x *= 2 - odd * x;
	return x;
}

/* Seconds to add texts of 8 bytes that collide with FNV-1a or similar hashes. */
static double add_hostile(size_t count)
{
	_cleanup_(strtab_freep) struct strtab *tab = strtab_new();
	clock_t begin = clock();

	for (uint64_t i = 1; strtab_count(tab) < count; i++) {
		uint64_t word = (i << 32 | i) * inverse(0x9e3779b97f4a7c15) ^ 8;

		if (!memchr(&word, 0, sizeof(word)))
			strtab_add_n(tab, (const char *)&word, sizeof(word));
	}
	return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

TEST(texts_chosen_to_collide_do_not_collide)
{
	CHECK(add_hostile(100000) < 2); /* with collisions 80 s, without 0.02 s */
}

TEST(a_sweep_removes_unused_strings_and_keeps_the_ids_of_others)
{
	_cleanup_(strtab_freep) struct strtab *tab = strtab_new();
	enum { COUNT = 10000 };
	bool used[COUNT + 1] = { 0 };
	size_t before;
	char text[32];

	for (int i = 1; i <= COUNT; i++) {
		snprintf(text, sizeof(text), "string number %d", i);
		CHECK_INT(strtab_add(tab, text).i, i);
		used[i] = i % 100 == 0;
	}
	before = strtab_memory(tab);
	strtab_sweep(tab, used);
	CHECK(strtab_memory(tab) < before);
	CHECK_STR(strtab_get(tab, (str_id){ 500 }), "string number 500");
	CHECK_STR(strtab_get(tab, (str_id){ 501 }), "");
	CHECK_INT(strtab_find(tab, "string number 500").i, 500);
	CHECK_INT(strtab_find(tab, "string number 501").i, 0);
	CHECK_INT(strtab_add(tab, "string number 500").i, 500);
	/* ids of removed strings are used again, the smallest first */
	CHECK_INT(strtab_add(tab, "new").i, 1);
	CHECK_INT(strtab_add(tab, "newer").i, 2);
	CHECK_STR(strtab_get(tab, (str_id){ 1 }), "new");
}

/* As in a window that slides for days. */
TEST(a_table_that_is_swept_stays_small)
{
	_cleanup_(strtab_freep) struct strtab *tab = strtab_new();
	size_t early = 0;
	char text[32];

	for (int round = 0; round < 100; round++) {
		bool used[1500] = { 0 };

		for (int i = 0; i < 1000; i++) {
			snprintf(text, sizeof(text), "string %d of round %d", i, round);
			used[strtab_add(tab, text).i] = i % 10 == 0;
		}
		strtab_sweep(tab, used);
		CHECK(strtab_count(tab) <= 1101);
		if (round == 5)
			early = strtab_memory(tab);
	}
	CHECK(strtab_memory(tab) <= early);
}
