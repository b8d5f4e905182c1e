/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pass goes from left to right.  At each position, the period whose repeats cover most letters
 * is folded.  Comparing stops at the first difference, so a pass takes at most as many comparisons
 * for each period as letters are covered, and is linear.  A second pass folds what the first made
 * adjacent: ((R-D)+-T)+ is R-D-T-R-D-T after the first.
 */
#include "analyse/fold.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "analyse/mine.h"
#include "base/sort.h"
#include "base/vec.h"

enum { PASSES = 3 };

struct block_list { /* a vector */
	struct fold_block *items;
	size_t count, room;
};

/* How many letters the repeats of the period at the start cover; 0 if it is not repeated. */
static uint32_t covered_by(const uint8_t *letters, uint32_t length, uint32_t period)
{
	uint32_t end = period;

	while (end < length && letters[end] == letters[end - period])
		end++;
	end -= end % period;
	return end >= 2 * period ? end : 0;
}

/* The period that covers most; of several, the shortest.  Returns 0 if there is none. */
static uint32_t best_period(const uint8_t *letters, uint32_t length, uint32_t *ret_covered)
{
	uint32_t best = 0;

	*ret_covered = 0;
	for (uint32_t period = 1; period <= FOLD_LONGEST_PERIOD && 2 * period <= length; period++) {
		uint32_t covered = covered_by(letters, length, period);

		if (covered > *ret_covered) {
			*ret_covered = covered;
			best = period;
		}
	}
	return best;
}

/*
 * Folds letters in place.  map[i] becomes the new position of the letter i.  Returns the new
 * length.
 */
static uint32_t fold_once(uint8_t *letters, uint32_t length, uint32_t *map,
			  struct block_list *blocks)
{
	uint32_t used = 0;

	for (uint32_t i = 0, covered; i < length; i += covered) {
		uint32_t period = best_period(letters + i, length - i, &covered);

		if (period)
			*vec_push(blocks) = (struct fold_block){ used, period };
		else
			period = covered = 1;
		for (uint32_t k = 0; k < covered; k++)
			map[i + k] = used + k % period;
		memmove(letters + used, letters + i, period);
		used += period;
	}
	return used;
}

/* The block after a pass; false if a new block tears it apart. */
static bool move_block(struct fold_block *block, const uint32_t *map)
{
	uint32_t first = block->first, last = first + block->period - 1;

	for (uint32_t i = first; i < last; i++)
		if (map[i] > map[i + 1])
			return false;
	*block = (struct fold_block){ map[first], map[last] - map[first] + 1 };
	return true;
}

/* Moves the blocks of the passes before, which are the first ones. */
static void move_blocks(struct block_list *blocks, size_t count, const uint32_t *map)
{
	size_t kept = 0;

	for (size_t i = 0; i < blocks->count; i++) {
		struct fold_block block = blocks->items[i];

		if (i >= count || move_block(&block, map))
			blocks->items[kept++] = block;
	}
	blocks->count = kept;
}

/* By position and period, each once. */
static bool is_before(const struct fold_block *a, const struct fold_block *b)
{
	return a->first != b->first ? a->first < b->first : a->period < b->period;
}

static void sort_blocks(struct block_list *blocks)
{
	size_t kept = 0;

	sort_items(blocks->items, blocks->count, is_before);
	for (size_t i = 0; i < blocks->count; i++) {
		struct fold_block block = blocks->items[i];

		if (!kept || is_before(&blocks->items[kept - 1], &block))
			blocks->items[kept++] = block;
	}
	blocks->count = kept;
}

void fold_sequence(const uint8_t *letters, uint32_t length, struct folded_sequence *ret)
{
	struct folded_sequence folded = { .length = length };
	_cleanup_(freep) uint32_t *map = must_alloc(length * sizeof(*map));
	struct block_list blocks = { 0 };

	folded.letters = must_alloc(length);
	folded.positions = must_alloc(length * sizeof(*folded.positions));
	for (uint32_t i = 0; i < length; i++) {
		folded.letters[i] = letters[i];
		folded.positions[i] = i;
	}
	for (int pass = 0; pass < PASSES; pass++) {
		size_t before = blocks.count;

		folded.length = fold_once(folded.letters, folded.length, map, &blocks);
		if (blocks.count == before)
			break;
		move_blocks(&blocks, before, map);
		for (uint32_t i = 0; i < length; i++)
			folded.positions[i] = map[folded.positions[i]];
	}
	sort_blocks(&blocks);
	folded.blocks = blocks.items;
	folded.block_count = (uint32_t)blocks.count;
	*ret = folded;
}

void folded_sequence_done(struct folded_sequence *folded)
{
	free(folded->letters);
	free(folded->positions);
	free(folded->blocks);
	*folded = (struct folded_sequence){ 0 };
}

/* Adjacent repeats in the pattern itself. */
struct fold_run {
	uint32_t first, period, covered; /* letters */
	uint64_t weight; /* of the sequences that have no other letters in between */
};

struct fold_tally {
	uint8_t pattern[MINE_LONGEST];
	uint32_t length;
	uint64_t weight; /* of all sequences */
	struct fold_run runs[MINE_LONGEST / 2];
	uint32_t run_count;
	/* Weight of the sequences with a block, by its first letter in the pattern and its period.
	 */
	uint64_t blocks[MINE_LONGEST][FOLD_LONGEST_PERIOD + 1];
};

struct fold_tally *fold_tally_new(const uint8_t *pattern, uint32_t length)
{
	struct fold_tally *tally = must_alloc(sizeof(*tally));

	assert(length <= MINE_LONGEST);
	memcpy(tally->pattern, pattern, length);
	tally->length = length;
	for (uint32_t i = 0, covered; i < length; i += covered) {
		uint32_t period = best_period(pattern + i, length - i, &covered);

		if (period)
			tally->runs[tally->run_count++] =
				(struct fold_run){ i, period, covered, 0 };
		else
			covered = 1;
	}
	return tally;
}

void fold_tally_free(struct fold_tally *tally)
{
	free(tally);
}

/* Whether letters of the pattern are adjacent in the sequence. */
static bool is_contiguous(const uint32_t *positions, uint32_t first, uint32_t count)
{
	return positions[first + count - 1] - positions[first] == count - 1;
}

void fold_tally_add(struct fold_tally *tally, const uint32_t *positions,
		    const struct folded_sequence *folded, uint64_t weight)
{
	uint32_t at = 0;

	tally->weight += weight;
	for (uint32_t i = 0; i < tally->run_count; i++) {
		struct fold_run *run = &tally->runs[i];

		if (is_contiguous(positions, run->first, run->covered))
			run->weight += weight;
	}
	for (uint32_t i = 0; folded && i < folded->block_count; i++) {
		const struct fold_block *block = &folded->blocks[i];

		while (at < tally->length && positions[at] < block->first)
			at++;
		if (at + block->period <= tally->length && positions[at] == block->first &&
		    is_contiguous(positions, at, block->period))
			tally->blocks[at][block->period] += weight;
	}
}

static bool is_frequent(const struct fold_tally *tally, uint64_t weight)
{
	return weight && weight >= tally->weight - weight;
}

/* Which letters of a pattern are repeated. */
struct fold_marks {
	uint8_t opened[MINE_LONGEST], closed[MINE_LONGEST]; /* repeats that start or end here */
	bool is_hidden[MINE_LONGEST];                       /* copies of letters before */
	uint32_t group[MINE_LONGEST]; /* number of the innermost repeat; 0 without */
	bool is_run[MINE_LONGEST];
};

/* Marks a repeat unless it crosses another; repeats are marked longest first. */
static void mark(struct fold_marks *marks, uint32_t first, uint32_t period, uint32_t number)
{
	for (uint32_t i = first; i < first + period; i++)
		if (marks->is_run[i] || marks->group[i] != marks->group[first])
			return;
	for (uint32_t i = first; i < first + period; i++)
		marks->group[i] = number;
	marks->opened[first]++;
	marks->closed[first + period - 1]++;
}

static void mark_all(struct fold_marks *marks, const struct fold_tally *tally)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < tally->run_count; i++) {
		const struct fold_run *run = &tally->runs[i];

		if (!is_frequent(tally, run->weight))
			continue;
		mark(marks, run->first, run->period, ++number);
		for (uint32_t k = run->first; k < run->first + run->covered; k++) {
			marks->is_run[k] = true;
			marks->is_hidden[k] = k >= run->first + run->period;
		}
	}
	for (uint32_t period = FOLD_LONGEST_PERIOD; period > 0; period--)
		for (uint32_t i = 0; i + period <= tally->length; i++)
			if (is_frequent(tally, tally->blocks[i][period]))
				mark(marks, i, period, ++number);
}

/* A single repeated letter needs no parentheses. */
static void print_letter(FILE *file, const struct fold_tally *tally, const struct fold_marks *marks,
			 uint32_t i)
{
	int opened = marks->opened[i], closed = marks->closed[i];
	bool is_single = opened && closed && (i == 0 || marks->group[i] != marks->group[i - 1]) &&
			 (i + 1 == tally->length || marks->group[i] != marks->group[i + 1]);

	for (opened -= is_single; opened > 0; opened--)
		putc('(', file);
	fprintf(file, isprint(tally->pattern[i]) ? "%c" : "\\x%02x", tally->pattern[i]);
	if (is_single)
		putc('+', file);
	for (closed -= is_single; closed > 0; closed--)
		fputs(")+", file);
}

char *fold_tally_text(const struct fold_tally *tally)
{
	struct fold_marks marks = { 0 };
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return must_strdup("");
	mark_all(&marks, tally);
	for (uint32_t i = 0; i < tally->length; i++) {
		if (marks.is_hidden[i])
			continue;
		if (i > 0)
			putc('-', file);
		print_letter(file, tally, &marks, i);
	}
	fclose(file);
	return text;
}
