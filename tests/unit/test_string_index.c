/* SPDX-License-Identifier: Apache-2.0 */
#include "event/string_index.h"

#include "test.h"

#define ADD(index, text, first, count) \
	(string_index_add(index, text, sizeof(text), first, count) ?: "")

static const char *find(const struct string_index *index, uint32_t id)
{
	return string_index_find(index, id) ?: "none";
}

TEST(strings_without_a_number_count_from_one)
{
	struct string_index index = { 0 };

	CHECK_STR(find(&index, 0), "none");
	CHECK_STR(find(&index, 1), "none");
	CHECK_STR(ADD(&index, "a\0b", 0, 2), "");
	CHECK_STR(ADD(&index, "c", 0, 1), "");
	CHECK_STR(find(&index, 0), "none");
	CHECK_STR(find(&index, 1), "a");
	CHECK_STR(find(&index, 2), "b");
	CHECK_STR(find(&index, 3), "c");
	CHECK_STR(find(&index, 4), "none");
	CHECK_INT(string_index_next(&index), 4);
	string_index_done(&index);
}

TEST(numbers_can_start_anywhere_and_have_gaps)
{
	struct string_index index = { 0 };

	CHECK_STR(ADD(&index, "a\0b", 1000, 2), "");
	CHECK_STR(ADD(&index, "c", 1002, 1), "");
	CHECK_STR(ADD(&index, "d\0e", 2000, 2), "");
	CHECK_STR(ADD(&index, "f", 0, 1), "");
	CHECK_STR(ADD(&index, "g", 3000, 1), "");
	CHECK_STR(find(&index, 999), "none");
	CHECK_STR(find(&index, 1000), "a");
	CHECK_STR(find(&index, 1002), "c");
	CHECK_STR(find(&index, 1003), "none");
	CHECK_STR(find(&index, 1999), "none");
	CHECK_STR(find(&index, 2001), "e");
	CHECK_STR(find(&index, 2002), "f");
	CHECK_STR(find(&index, 2003), "none");
	CHECK_STR(find(&index, 3000), "g");
	CHECK_STR(find(&index, 3001), "none");
	CHECK_STR(find(&index, 0), "none");
	CHECK_STR(find(&index, UINT32_MAX), "none");
	string_index_done(&index);
}

TEST(numbers_grow_modulo_2_to_the_32)
{
	struct string_index index = { 0 };

	CHECK_STR(ADD(&index, "a\0b", UINT32_MAX - 1, 2), "");
	CHECK_INT(string_index_next(&index), 1);
	CHECK_STR(ADD(&index, "c", 0, 1), "");
	CHECK_STR(ADD(&index, "d", 7, 1), "");
	CHECK_STR(find(&index, UINT32_MAX - 1), "a");
	CHECK_STR(find(&index, UINT32_MAX), "b");
	CHECK_STR(find(&index, 0), "none");
	CHECK_STR(find(&index, 1), "c");
	CHECK_STR(find(&index, 2), "none");
	CHECK_STR(find(&index, 7), "d");
	string_index_done(&index);
}

TEST(wrong_numbers_are_refused)
{
	struct string_index index = { 0 };

	CHECK_STR(ADD(&index, "a\0b", 10, 2), "");
	CHECK_STR(ADD(&index, "c", 11, 1), "the numbers of its strings do not grow");
	CHECK_STR(ADD(&index, "c", 9, 1), "the numbers of its strings do not grow");
	CHECK_STR(ADD(&index, "c", 1ull << 32, 1), "the numbers of its strings do not grow");
	CHECK_STR(ADD(&index, "c\0d", UINT32_MAX, 2), "the numbers of its strings do not grow");
	CHECK_STR(ADD(&index, "c", UINT64_MAX, 1), "the numbers of its strings do not grow");
	CHECK_STR(ADD(&index, "c\0d", 0, 1), "the number of its strings is wrong");
	CHECK_STR(string_index_add(&index, "abc", 2, 0, 1), "a string is not terminated");
	string_index_done(&index);
}

TEST(empty_blocks_between_strings_are_harmless)
{
	struct string_index index = { 0 };

	CHECK(!string_index_add(&index, "", 0, 50, 0));
	CHECK(!string_index_add(&index, "", 0, 60, 0));
	CHECK_STR(find(&index, 50), "none");
	CHECK_STR(ADD(&index, "a", 70, 1), "");
	CHECK(!string_index_add(&index, "", 0, 80, 0));
	CHECK(!string_index_add(&index, "", 0, 90, 0));
	CHECK_STR(ADD(&index, "b", 100, 1), "");
	CHECK_STR(find(&index, 70), "a");
	CHECK_STR(find(&index, 80), "none");
	CHECK_STR(find(&index, 90), "none");
	CHECK_STR(find(&index, 100), "b");
	string_index_done(&index);
}
