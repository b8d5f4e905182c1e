/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: four bytes of options, then sequences, each after the byte 0.  For any input, each pattern
 * has the support that searching for it in all sequences gives, patterns are in order, one or two
 * threads find the same, and folding keeps the letters.
 */
#include <assert.h>
#include <string.h>

#include "analyse/fold.h"
#include "analyse/mine.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

enum { SEQUENCES = 32, LETTERS = 600, PATTERNS = 50 };

static void check_fold(const struct mine_sequence *s)
{
	struct folded_sequence folded;

	fold_sequence(s->letters, s->length, &folded);
	assert(folded.length <= s->length);
	for (uint32_t i = 0; i < s->length; i++) {
		assert(folded.positions[i] < folded.length);
		assert(folded.letters[folded.positions[i]] == s->letters[i]);
	}
	for (uint32_t i = 0; i < folded.block_count; i++)
		assert(folded.blocks[i].first + folded.blocks[i].period <= folded.length);
	folded_sequence_done(&folded);
}

static void check_pattern(const struct mine_pattern *p, const struct mine_sequence *sequences,
			  size_t count, const struct mine_gap *gap)
{
	_cleanup_(fold_tally_freep) struct fold_tally *tally =
		fold_tally_new(p->letters, p->length);
	_cleanup_(freep) char *text = NULL;
	uint32_t positions[MINE_LONGEST];
	uint64_t support = 0;

	for (size_t i = 0; i < count; i++) {
		const struct mine_sequence *s = &sequences[i];

		if (!mine_find(s->letters, s->length, p->letters, p->length, gap, positions))
			continue;
		support += s->weight;
		fold_tally_add(tally, positions, NULL, s->weight);
		for (uint32_t k = 0; k < p->length; k++)
			assert(s->letters[positions[k]] == p->letters[k]);
		for (uint32_t k = 1; k < p->length; k++)
			assert(positions[k] - positions[k - 1] - 1 - gap->least <=
			       gap->most - gap->least);
	}
	assert(support == p->support);
	text = fold_tally_text(tally);
}

static void check_order(const struct mine_pattern *a, const struct mine_pattern *b)
{
	assert(a->length >= b->length);
	if (a->length == b->length)
		assert(a->support >= b->support);
	if (a->length == b->length && a->support == b->support)
		assert(memcmp(a->letters, b->letters, a->length) < 0);
}

static size_t split(const uint8_t *input, size_t size, struct mine_sequence *ret_sequences)
{
	size_t count = 0;

	for (size_t begin = 0; begin < size && count < SEQUENCES; count++) {
		const uint8_t *end = memchr(input + begin, 0, size - begin);
		size_t length = end ? (size_t)(end - input) - begin : size - begin;

		ret_sequences[count] =
			(struct mine_sequence){ input + begin, (uint32_t)length, count % 3 };
		begin += length + 1;
	}
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	struct mine_options options = mine_defaults;
	struct mine_sequence sequences[SEQUENCES];
	struct mine_result result, other;

	if (size < 4)
		return 0;
	options.support = input[0] % 16;
	options.gap = (struct mine_gap){ input[1] % 8, input[2] };
	options.closed = input[3] % 2 ? MINE_CLOSED_ALL : MINE_CLOSED_ENDS;
	options.max_work = 100000;
	options.max_patterns = PATTERNS;

	size_t count = split(input + 4, size - 4 < LETTERS ? size - 4 : LETTERS, sequences);

	for (size_t i = 0; i < count; i++)
		check_fold(&sequences[i]);
	mine_patterns(sequences, count, &options, &result);
	options.threads = 2;
	mine_patterns(sequences, count, &options, &other);
	assert(result.count == other.count && result.is_truncated == other.is_truncated);
	for (size_t i = 0; i < result.count; i++) {
		const struct mine_pattern *p = &result.patterns[i];

		check_pattern(p, sequences, count, &options.gap);
		assert(p->length == other.patterns[i].length);
		assert(memcmp(p->letters, other.patterns[i].letters, p->length) == 0);
		if (i > 0)
			check_order(p - 1, p);
	}
	mine_result_done(&result);
	mine_result_done(&other);
	return 0;
}
