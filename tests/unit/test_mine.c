/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/mine.h"
#include "test.h"

/* Mines words, with as many sequences as each word is followed by; the result as text. */
struct weighted {
	const char *word;
	uint64_t weight;
};

static char *mine(const struct weighted *words, size_t count, const struct mine_options *options)
{
	struct mine_sequence sequences[16];
	struct mine_result result;
	char *text = must_strdup("");

	for (size_t i = 0; i < count; i++)
		sequences[i] =
			(struct mine_sequence){ (const uint8_t *)words[i].word,
						(uint32_t)strlen(words[i].word), words[i].weight };
	mine_patterns(sequences, count, options, &result);
	for (size_t i = 0; i < result.count; i++) {
		_cleanup_(freep) char *before = text;
		const struct mine_pattern *p = &result.patterns[i];

		text = must_printf("%s%s%.*s:%" PRIu64, before, i ? " " : "", (int)p->length,
				   (const char *)p->letters, p->support);
	}
	mine_result_done(&result);
	return text;
}

#define MINE(options, ...) \
	mine((struct weighted[]){ __VA_ARGS__ }, \
	     sizeof((struct weighted[]){ __VA_ARGS__ }) / sizeof(struct weighted), options)

static struct mine_options options_of(uint64_t support, uint32_t least, uint32_t most,
				      enum mine_closed closed)
{
	struct mine_options options = mine_defaults;

	options.support = support;
	options.gap = (struct mine_gap){ least, most };
	options.closed = closed;
	return options;
}

#define CHECK_MINED(support, least, most, closed, want, ...) \
	do { \
		struct mine_options o_ = options_of(support, least, most, closed); \
		_cleanup_(freep) char *text_ = MINE(&o_, __VA_ARGS__); \
		CHECK_STR(text_, want); \
	} while (0)

TEST(equal_sequences_have_one_pattern)
{
	CHECK_MINED(1, 0, 0, MINE_CLOSED_ENDS, "RNR:3", { "RNR", 3 });
}

/* As in figure 3 of the paper: the states that all executions of an operation have in common. */
TEST(the_expected_pattern_is_what_executions_have_in_common)
{
	CHECK_MINED(4, 0, 2, MINE_CLOSED_ALL, "RNRDR:4", { "RNRDR", 1 }, { "RNRLRDR", 1 },
		    { "RTRNRDR", 1 }, { "RNRDRU", 1 });
}

TEST(a_pattern_is_kept_although_letters_precede_it_twice_in_one_sequence)
{
	CHECK_MINED(1, 0, 1, MINE_CLOSED_ENDS, "DDR:1 R:2", { "DDR", 1 }, { "R", 1 });
}

TEST(support_counts_sequences_and_not_appearances)
{
	CHECK_MINED(2, 0, 0, MINE_CLOSED_ENDS, "", { "RRRR", 1 });
	CHECK_MINED(2, 0, 0, MINE_CLOSED_ENDS, "R:2", { "RNRLR", 1 }, { "R", 1 });
}

TEST(a_weight_counts_as_that_many_sequences)
{
	CHECK_MINED(5, 0, 0, MINE_CLOSED_ENDS, "RN:5 R:6", { "RN", 5 }, { "R", 1 });
	CHECK_MINED(1, 0, 0, MINE_CLOSED_ENDS, "R:1", { "RN", 0 }, { "R", 1 });
}

TEST(the_gap_bounds_the_letters_skipped)
{
	CHECK_MINED(2, 0, 1, MINE_CLOSED_ALL, "RD:2", { "RxD", 1 }, { "RyD", 1 });
	CHECK_MINED(2, 0, 0, MINE_CLOSED_ALL, "D:2 R:2", { "RxD", 1 }, { "RyD", 1 });
	CHECK_MINED(2, 2, 2, MINE_CLOSED_ALL, "D:2 R:2", { "RxD", 1 }, { "RyD", 1 });
	CHECK_MINED(2, 1, 1, MINE_CLOSED_ALL, "RD:2", { "RxD", 1 }, { "RyD", 1 });
}

/* The two letters are at both ends of a word of bits, and then in two words. */
TEST(a_gap_can_be_as_long_as_the_sequence)
{
	for (uint32_t skipped = 61; skipped < 66; skipped++) {
		char word[80] = { 'A' }, other[80] = { 'A' };

		memset(word + 1, 'x', skipped);
		memset(other + 1, 'y', skipped);
		word[skipped + 1] = other[skipped + 1] = 'B';
		CHECK_MINED(2, skipped, skipped, MINE_CLOSED_ALL, "AB:2", { word, 1 },
			    { other, 1 });
		CHECK_MINED(2, 0, skipped - 1, MINE_CLOSED_ALL, "A:2 B:2", { word, 1 },
			    { other, 1 });
		CHECK_MINED(2, 0, skipped, MINE_CLOSED_ALL, "AB:2", { word, 1 }, { other, 1 });
		CHECK_MINED(2, 0, UINT32_MAX, MINE_CLOSED_ALL, "AB:2", { word, 1 }, { other, 1 });
	}
}

TEST(a_gap_that_allows_nothing_leaves_single_letters)
{
	CHECK_MINED(1, 2, 1, MINE_CLOSED_ENDS, "D:1 R:1", { "RD", 1 });
}

/* RR appears in the sequence, and no letter can be added before or after it. */
TEST(only_the_strict_meaning_of_closed_regards_letters_in_between)
{
	CHECK_MINED(1, 0, 1, MINE_CLOSED_ENDS, "RNR:1 RR:1", { "RNR", 1 });
	CHECK_MINED(1, 0, 1, MINE_CLOSED_ALL, "RNR:1", { "RNR", 1 });
}

/* AB and AxB have two sequences each, but not the same: in the second one, B is too far from A. */
TEST(equal_counts_of_other_sequences_do_not_close_a_pattern)
{
	CHECK_MINED(2, 0, 1, MINE_CLOSED_ALL, "AxB:2 AB:2 A:3 B:3", { "AxB", 1 }, { "AyxzB", 1 },
		    { "AB", 1 });
}

/* Adding one letter to AB loses a sequence, adding two does not. */
TEST(a_pattern_can_be_closed_by_one_that_is_two_letters_longer)
{
	CHECK_MINED(2, 0, 2, MINE_CLOSED_ALL, "AxyB:2", { "AB...A..x..y..B", 1 },
		    { "AB___A__x__y__B", 1 });
}

TEST(patterns_come_longest_first_then_by_support_then_by_bytes)
{
	CHECK_MINED(1, 0, 0, MINE_CLOSED_ENDS, "RDR:1 LL:1 NR:1 R:2 T:1", { "RDR", 1 }, { "T", 1 },
		    { "LL", 1 }, { "NR", 1 });
}

TEST(no_sequences_have_no_patterns)
{
	struct mine_options options = mine_defaults;
	struct mine_result result;

	mine_patterns(NULL, 0, &options, &result);
	CHECK_INT(result.count, 0);
	CHECK(!result.is_truncated);
	mine_result_done(&result);
	CHECK_MINED(0, 0, 2, MINE_CLOSED_ALL, "", { "", 3 });
}

/* 400 letters without order: the first and the last word of the mask take part in the pattern. */
TEST(sequences_can_be_longer_than_a_word_of_bits)
{
	uint8_t letters[400];
	struct mine_sequence sequence = { letters, sizeof(letters), 1 };
	struct mine_options options = options_of(1, 0, 0, MINE_CLOSED_ENDS);
	struct mine_result result;

	for (uint32_t i = 0; i < sizeof(letters); i++)
		letters[i] = (uint8_t)(i % 251);
	sequence.length = 200;
	mine_patterns(&sequence, 1, &options, &result);
	CHECK_INT(result.count, 1);
	CHECK_INT(result.patterns[0].length, 200);
	CHECK(memcmp(result.patterns[0].letters, letters, 200) == 0);
	mine_result_done(&result);

	sequence.length = 400;
	mine_patterns(&sequence, 1, &options, &result);
	CHECK(result.is_truncated);
	mine_result_done(&result);
}

/* The number of patterns is exponential: 10^12 and more. */
TEST(a_search_that_exceeds_its_bounds_says_so_and_has_the_longest_pattern)
{
	uint8_t letters[60];
	struct mine_sequence sequence = { letters, sizeof(letters), 1 };
	struct mine_options options = mine_defaults;
	struct mine_result results[2];

	for (uint32_t i = 0; i < sizeof(letters); i++)
		letters[i] = i % 2 ? 'N' : 'R';
	options.max_work = 1000000;
	for (unsigned i = 0; i < 2; i++) {
		options.threads = 1 + i;
		mine_patterns(&sequence, 1, &options, &results[i]);
		CHECK(results[i].is_truncated);
		CHECK(results[i].count > 100);
		CHECK_INT(results[i].patterns[0].length, 60);
	}
	CHECK_INT(results[0].count, results[1].count);
	for (size_t i = 0; i < results[0].count && !test_failures; i++)
		CHECK(memcmp(results[0].patterns[i].letters, results[1].patterns[i].letters,
			     results[0].patterns[i].length) == 0);
	for (unsigned i = 0; i < 2; i++)
		mine_result_done(&results[i]);
}

TEST(the_number_of_patterns_and_the_memory_are_bounded)
{
	struct mine_sequence sequence = { (const uint8_t *)"RNRNRDRNRDRLRNRD", 16, 1 };
	struct mine_options options = mine_defaults;
	struct mine_result result;

	options.max_patterns = 7;
	mine_patterns(&sequence, 1, &options, &result);
	CHECK_INT(result.count, 7);
	CHECK(result.is_truncated);
	mine_result_done(&result);

	options = mine_defaults;
	options.max_search_memory = 40;
	mine_patterns(&sequence, 1, &options, &result);
	CHECK(result.is_truncated);
	mine_result_done(&result);
}

TEST(the_minimum_support_is_rounded_up)
{
	CHECK_INT(mine_support(0.95, 20), 19);
	CHECK_INT(mine_support(0.95, 21), 20);
	CHECK_INT(mine_support(0.95, 1), 1);
	CHECK_INT(mine_support(1, 7), 7);
	CHECK_INT(mine_support(2, 7), 7);
	CHECK_INT(mine_support(0, 7), 1);
}

static const char *find(const char *word, const char *pattern, uint32_t least, uint32_t most)
{
	static char text[64];
	uint32_t positions[16];
	size_t used = 0;

	text[0] = 0;
	if (!mine_find((const uint8_t *)word, (uint32_t)strlen(word), (const uint8_t *)pattern,
		       (uint32_t)strlen(pattern), &(struct mine_gap){ least, most }, positions))
		return "none";
	for (size_t i = 0; pattern[i]; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, i ? " %u" : "%u",
					 positions[i]);
	return text;
}

TEST(the_leftmost_appearance_is_found)
{
	CHECK_STR(find("RNRDR", "RDR", 0, 2), "0 3 4");
	CHECK_STR(find("RNRDR", "RDR", 0, 1), "2 3 4");
	CHECK_STR(find("RNRDR", "RDRN", 0, 1), "none");
	CHECK_STR(find("RNRDR", "", 0, 1), "");
	CHECK_STR(find("", "R", 0, 1), "none");
}

/* From the first A, the first B is too far from C; from the second A, it is the other way round. */
TEST(the_first_letters_are_those_from_which_the_pattern_can_be_completed)
{
	CHECK_STR(find("ABBxC", "ABC", 0, 1), "0 2 4");
	CHECK_STR(find("ABxxABxC", "ABC", 0, 1), "4 5 7");
	CHECK_STR(find("AABBC", "ABC", 1, 1), "0 2 4");
}
