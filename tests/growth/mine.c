/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mine CASE N - search for patterns in an input of size N.
 *
 * The patterns are the same for each N, so that only the input grows.
 */
#include <stdio.h>
#include <string.h>

#include "analyse/fold.h"
#include "analyse/mine.h"

static const char walk[] = "RNRDRLRNRTRDRNRLDRNTRURDNRLRTRNRDRURNRDRTRLRNRDRUDRNRTRLRND";

/* The walk without some of its letters, of which there are 100 variants. */
static uint32_t make_variant(size_t i, uint8_t *ret_letters)
{
	uint32_t length = 0;

	for (uint32_t k = 0; walk[k]; k++)
		if ((i % 100 * 7 + k * k * 13) % 11)
			ret_letters[length++] = (uint8_t)walk[k];
	return length;
}

static void mine_all(const struct mine_sequence *sequences, size_t count, enum mine_closed closed)
{
	struct mine_options options = mine_defaults;
	struct mine_result result;

	options.support = mine_support(0.95, count);
	options.closed = closed;
	mine_patterns(sequences, count, &options, &result);
	fprintf(stderr, "%zu patterns\n", result.count);
	mine_result_done(&result);
}

static void mine_variants(size_t n, enum mine_closed closed)
{
	_cleanup_(freep) struct mine_sequence *sequences = must_alloc(n * sizeof(*sequences));
	_cleanup_(freep) uint8_t *letters = must_alloc(n * sizeof(walk));

	for (size_t i = 0; i < n; i++) {
		uint8_t *own = letters + i * sizeof(walk);

		sequences[i] = (struct mine_sequence){ own, make_variant(i, own), 1 };
	}
	mine_all(sequences, n, closed);
}

static void mine_sequences(size_t n)
{
	mine_variants(n, MINE_CLOSED_ENDS);
}

static void mine_sequences_all(size_t n)
{
	mine_variants(n, MINE_CLOSED_ALL);
}

/* Ten sequences of n letters, which have nothing in common but the last ones. */
static void mine_letters(size_t n)
{
	static const char common[] = "RNRDRLRD";
	struct mine_sequence sequences[10];
	_cleanup_(freep) uint8_t *letters = must_alloc(10 * (n + sizeof(common)));

	for (size_t i = 0; i < 10; i++) {
		uint8_t *own = letters + i * (n + sizeof(common));

		memset(own, (int)(1 + i), n);
		memcpy(own + n, common, sizeof(common) - 1);
		sequences[i] = (struct mine_sequence){ own, (uint32_t)(n + sizeof(common) - 1), 1 };
	}
	mine_all(sequences, 10, MINE_CLOSED_ENDS);
}

/* A pattern whose first letters are everywhere, and whose last one is at the end. */
static void find_pattern(size_t n)
{
	static const uint8_t pattern[] = "RNRNRNRNRNRNRNRNRND";
	_cleanup_(freep) uint8_t *letters = must_alloc(n + 1);
	uint32_t positions[sizeof(pattern)];

	for (size_t i = 0; i < n; i++)
		letters[i] = i % 2 ? 'N' : 'R';
	letters[n] = 'D';
	mine_find(letters, (uint32_t)n + 1, pattern, sizeof(pattern) - 1,
		  &(struct mine_gap){ 0, 2 }, positions);
}

static void fold_letters(size_t n, uint32_t period)
{
	_cleanup_(freep) uint8_t *letters = must_alloc(n);
	struct folded_sequence folded;

	for (size_t i = 0; i < n; i++)
		letters[i] = (uint8_t)walk[i % period];
	fold_sequence(letters, (uint32_t)n, &folded);
	folded_sequence_done(&folded);
}

static void fold_repeats(size_t n)
{
	fold_letters(n, 7);
}

/* Repeats of 59 letters, which are too long to be folded. */
static void fold_nothing(size_t n)
{
	fold_letters(n, sizeof(walk) - 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(size_t n);
	} cases[] = {
		{ "mine-sequences", mine_sequences }, { "mine-sequences-all", mine_sequences_all },
		{ "mine-letters", mine_letters },     { "find-pattern", find_pattern },
		{ "fold-repeats", fold_repeats },     { "fold-nothing", fold_nothing },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (argc < 2)
			puts(cases[i].name);
		else if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run((size_t)atoi(argv[2]));
	return 0;
}
