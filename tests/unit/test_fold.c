/* SPDX-License-Identifier: Apache-2.0 */
#include "analyse/fold.h"

#include "analyse/mine.h"
#include "test.h"

static const uint8_t *bytes(const char *word)
{
	return (const uint8_t *)word;
}

/* Letters, positions and blocks of a folded word, as text. */
static char *fold(const char *word)
{
	struct folded_sequence folded;
	char *text;

	fold_sequence(bytes(word), (uint32_t)strlen(word), &folded);
	text = must_printf("%.*s", (int)folded.length, (const char *)folded.letters);
	for (uint32_t i = 0; i < folded.block_count; i++) {
		_cleanup_(freep) char *before = text;

		text = must_printf("%s %u+%u", before, folded.blocks[i].first,
				   folded.blocks[i].period);
	}
	for (uint32_t i = 0; word[i]; i++)
		CHECK_INT(folded.letters[folded.positions[i]], word[i]);
	folded_sequence_done(&folded);
	return text;
}

#define CHECK_FOLD(word, want) \
	do { \
		_cleanup_(freep) char *text_ = fold(word); \
		CHECK_STR(text_, want); \
	} while (0)

TEST(adjacent_repeats_become_one_occurrence)
{
	CHECK_FOLD("RTRDRDRDR", "RTRDR 2+2");
	CHECK_FOLD("RRRR", "R 0+1");
	CHECK_FOLD("RNDRNDRNDL", "RNDL 0+3");
}

TEST(a_sequence_without_repeats_stays)
{
	CHECK_FOLD("", "");
	CHECK_FOLD("R", "R");
	CHECK_FOLD("RNDRTLRND", "RNDRTLRND");
}

TEST(periods_of_one_to_eight_letters_are_folded)
{
	CHECK_FOLD("abcdefghabcdefgh", "abcdefgh 0+8");
	CHECK_FOLD("abcdefghiabcdefghi", "abcdefghiabcdefghi");
}

TEST(loops_within_loops_are_folded)
{
	CHECK_FOLD("RDRDRDTRDRDTRDRDRDRDT", "RDT 0+2 0+3");
}

/* The first pass folds b-a-a, the second a-a in it. */
TEST(a_block_shrinks_with_the_repeats_inside)
{
	CHECK_FOLD("xbaabaaby", "xbaby 1+2 2+1");
}

TEST(times_are_added_up_by_position)
{
	static const uint32_t want[] = { 0, 1, 2, 3, 2, 3, 2, 3, 4 };
	struct folded_sequence folded;

	fold_sequence(bytes("RTRDRDRDN"), 9, &folded);
	CHECK_INT(folded.length, 5);
	for (uint32_t i = 0; i < 9; i++)
		CHECK_INT(folded.positions[i], want[i]);
	folded_sequence_done(&folded);
}

/* The expression of a pattern of words, each with the weight 1. */
static char *express(const char *pattern, bool is_folded, const char *const *words)
{
	uint32_t length = (uint32_t)strlen(pattern);
	_cleanup_(fold_tally_freep) struct fold_tally *tally =
		fold_tally_new(bytes(pattern), length);
	uint32_t positions[16];

	for (; *words; words++) {
		struct folded_sequence folded;

		fold_sequence(bytes(*words), (uint32_t)strlen(*words), &folded);
		if (is_folded ? mine_find(folded.letters, folded.length, bytes(pattern), length,
					  &(struct mine_gap){ 0, 2 }, positions)
			      : mine_find(bytes(*words), (uint32_t)strlen(*words), bytes(pattern),
					  length, &(struct mine_gap){ 0, 2 }, positions))
			fold_tally_add(tally, positions, is_folded ? &folded : NULL, 1);
		folded_sequence_done(&folded);
	}
	return fold_tally_text(tally);
}

#define CHECK_EXPRESSION(pattern, is_folded, want, ...) \
	do { \
		const char *const words_[] = { __VA_ARGS__, NULL }; \
		_cleanup_(freep) char *text_ = express(pattern, is_folded, words_); \
		CHECK_STR(text_, want); \
	} while (0)

/* The example of the paper. */
TEST(a_repetition_in_a_pattern_becomes_an_expression)
{
	CHECK_EXPRESSION("RTRDRDR", false, "R-T-(R-D)+-R", "RTRDRDR", "RTRDRDRDR");
}

TEST(a_repetition_of_folded_sequences_becomes_an_expression)
{
	CHECK_EXPRESSION("RTRDR", true, "R-T-(R-D)+-R", "RTRDRDR", "RTRDRDRDRDR");
}

TEST(half_of_the_sequences_suffice)
{
	CHECK_EXPRESSION("RTRDR", true, "R-T-(R-D)+-R", "RTRDRDR", "RTRDR");
	CHECK_EXPRESSION("RTRDR", true, "R-T-R-D-R", "RTRDRDR", "RTRDR", "RTRDR");
	CHECK_EXPRESSION("RTRDRDR", false, "R-T-(R-D)+-R", "RTRDRDR", "RTRDLRDR");
	CHECK_EXPRESSION("RTRDRDR", false, "R-T-R-D-R-D-R", "RTRDRDR", "RTRDLRDR", "RTRLDRDR");
}

TEST(loops_within_loops_have_nested_parentheses)
{
	CHECK_EXPRESSION("NRDTN", true, "N-((R-D)+-T)+-N", "NRDRDTRDRDRDTN");
}

TEST(a_single_letter_has_no_parentheses)
{
	CHECK_EXPRESSION("NRRRD", false, "N-R+-D", "NRRRD");
	CHECK_EXPRESSION("xbay", true, "x-b-a+-y", "xbaay");
	CHECK_EXPRESSION("xbay", true, "x-(b-a+)+-y", "xbaabaay", "xbabaay");
}

/* The expression of a pattern that appears once, at these positions of a sequence with blocks. */
static char *express_blocks(const char *pattern, const uint32_t *positions,
			    struct fold_block *blocks, uint32_t count)
{
	_cleanup_(fold_tally_freep) struct fold_tally *tally =
		fold_tally_new(bytes(pattern), (uint32_t)strlen(pattern));
	struct folded_sequence folded = { .blocks = blocks, .block_count = count };

	fold_tally_add(tally, positions, &folded, 1);
	return fold_tally_text(tally);
}

TEST(repeats_that_cross_another_are_not_shown)
{
	uint32_t positions[] = { 0, 1, 2, 3, 4 };
	struct fold_block blocks[] = { { 0, 2 }, { 1, 2 }, { 3, 2 } };
	_cleanup_(freep) char *crossed = express_blocks("RDRLN", positions, blocks, 3);
	_cleanup_(freep) char *run = express_blocks("RDRDN", positions, blocks, 3);

	CHECK_STR(crossed, "(R-D)+-R-(L-N)+");
	CHECK_STR(run, "(R-D)+-N");
}

TEST(a_repeat_of_which_the_pattern_has_a_part_is_not_shown)
{
	uint32_t positions[] = { 0, 2, 3 };
	struct fold_block blocks[] = { { 0, 2 }, { 1, 2 }, { 3, 2 } };
	_cleanup_(freep) char *text = express_blocks("RDN", positions, blocks, 3);

	CHECK_STR(text, "R-D-N");
}

TEST(a_pattern_without_sequences_has_no_repetition)
{
	CHECK_EXPRESSION("RDRD", false, "R-D-R-D", "L");
	CHECK_EXPRESSION("", false, "", "L");
	CHECK_EXPRESSION("\n\x80", false, "\\x0a-\\x80", "L");
}
