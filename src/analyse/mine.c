/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads take the letters at which patterns begin, one after the other.  Each letter has its own
 * share of the bounds and its own list of patterns, so that the result is the same for any number
 * of threads.
 *
 * MINE_CLOSED_ALL.  A pattern that is closed in this sense is closed at its ends.  If it is not,
 * take the longest pattern that contains it and has the same rows: it cannot grow at its ends, so
 * the search finds it.  So it suffices to compare the patterns found.  Rows are compared by a
 * fingerprint: the sum of keys of 128 bits.  They are random in each run, so no input can choose
 * two sets of equal fingerprints, and two different sets have one with a probability of 2^-128.
 */
#include "analyse/mine.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "analyse/mine_search.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/sort.h"

const struct mine_options mine_defaults = {
	.support = 1,
	.gap = { 0, 2 },
	.closed = MINE_CLOSED_ENDS,
	.threads = 1,
	.max_patterns = 100000,
	.max_work = 20000000000,
	.max_search_memory = 256u << 20,
};

uint64_t mine_support(double share, uint64_t total)
{
	/* 0.95 of 20 is 19, although the nearest double is a little more. */
	double least = (share - 1e-9) * (double)total;

	if (least <= 1)
		return 1;
	if (least >= (double)total)
		return total;
	return (uint64_t)least + ((double)(uint64_t)least < least);
}

/* The letters of which patterns can consist. */
static void choose_letters(struct mine_table *table, const struct mine_sequence *sequences,
			   size_t count)
{
	uint64_t supports[256] = { 0 };

	for (size_t i = 0; i < count; i++) {
		bool has[256] = { false };

		for (uint32_t k = 0; k < sequences[i].length; k++) {
			uint8_t letter = sequences[i].letters[k];

			supports[letter] += has[letter] ? 0 : sequences[i].weight;
			has[letter] = true;
		}
	}
	for (uint32_t i = 0; i < 256; i++)
		if (supports[i] >= table->minimum)
			table->letters[table->letter_count++] = (uint8_t)i;
}

static void add_rows(struct mine_table *table, const struct mine_sequence *sequences, size_t count)
{
	table->rows = must_alloc(count * sizeof(*table->rows));
	for (size_t i = 0; i < count; i++) {
		struct mine_row *row = &table->rows[i];

		row->weight = sequences[i].weight;
		row->words = row->weight ? mask_words(sequences[i].length) : 0;
		row->at = (uint32_t)table->words;
		table->words += row->words;
		if (row->words > table->most_words)
			table->most_words = row->words;
	}
	table->row_count = (uint32_t)count;
	assert(table->words <= UINT32_MAX); /* 32 GiB of each letter */
}

static void fill_rows(struct mine_table *table, const struct mine_sequence *sequences)
{
	int16_t codes[256];

	memset(codes, -1, sizeof(codes));
	for (uint32_t i = 0; i < table->letter_count; i++)
		codes[table->letters[i]] = (int16_t)i;
	for (uint32_t i = 0; i < table->row_count; i++) {
		const struct mine_row *row = &table->rows[i];

		for (uint32_t k = 0; row->words && k < sequences[i].length; k++) {
			int code = codes[sequences[i].letters[k]];

			if (code >= 0)
				table->occurrences[(size_t)code * table->words + row->at +
						   k / 64] |= 1ull << k % 64;
		}
	}
}

static void add_keys(struct mine_table *table)
{
	table->keys = must_alloc(table->row_count * sizeof(*table->keys));
	for (uint32_t i = 0; i < table->row_count; i++)
		for (uint32_t k = 0; k < 2; k++)
			table->keys[i][k] = hash_bytes((uint32_t[]){ i, k }, 2 * sizeof(i));
}

static void table_init(struct mine_table *table, const struct mine_sequence *sequences,
		       size_t count, const struct mine_options *options)
{
	*table = (struct mine_table){ .minimum = options->support ? options->support : 1,
				      .step = mask_step_of(&options->gap) };
	choose_letters(table, sequences, count);
	add_rows(table, sequences, count);
	table->occurrences =
		must_alloc(table->words * table->letter_count * sizeof(*table->occurrences));
	fill_rows(table, sequences);
	if (options->closed == MINE_CLOSED_ALL)
		add_keys(table);
}

static void table_done(struct mine_table *table)
{
	free(table->rows);
	free(table->occurrences);
	free(table->keys);
}

/* What the threads share. */
struct mine_job {
	const struct mine_table *table;
	struct mine_options bounds; /* of a letter */
	atomic_uint next;           /* letter to take */
	struct mine_letter {
		struct mine_list found;
		struct arena *arena;
		bool is_truncated;
	} letters[256];
};

static void *search_letters(void *arg)
{
	struct mine_job *job = arg;

	for (unsigned i; (i = atomic_fetch_add(&job->next, 1)) < job->table->letter_count;) {
		struct mine_letter *letter = &job->letters[i];

		letter->arena = arena_new();
		letter->is_truncated = !mine_search_letter(job->table, &job->bounds, i,
							   letter->arena, &letter->found);
	}
	return NULL;
}

/* A thread that cannot be started leaves its letters to the others. */
static void run_threads(struct mine_job *job)
{
	unsigned wanted = job->bounds.threads, count = 0;
	pthread_t threads[256];

	if (wanted > job->table->letter_count)
		wanted = job->table->letter_count;
	while (count + 1 < wanted &&
	       pthread_create(&threads[count], NULL, search_letters, job) == 0)
		count++;
	search_letters(job);
	while (count > 0)
		pthread_join(threads[--count], NULL);
}

/* Patterns with the same rows are adjacent, longest first. */
static bool is_before_by_set(const struct mine_found *a, const struct mine_found *b)
{
	for (int i = 0; i < 2; i++)
		if (a->set[i] != b->set[i])
			return a->set[i] < b->set[i];
	return a->length > b->length;
}

static bool is_before(const struct mine_found *a, const struct mine_found *b)
{
	if (a->length != b->length)
		return a->length > b->length;
	if (a->support != b->support)
		return a->support > b->support;
	return memcmp(a->letters, b->letters, a->length) < 0;
}

static bool has_same_set(const struct mine_found *a, const struct mine_found *b)
{
	return a->set[0] == b->set[0] && a->set[1] == b->set[1];
}

static bool contains(const struct mine_found *whole, const struct mine_found *part)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < whole->length && found < part->length; i++)
		found += whole->letters[i] == part->letters[found];
	return found == part->length;
}

/* Whether a pattern is contained in one of some others; stops after some work. */
static bool is_contained(const struct mine_found *pattern, const struct mine_found *others,
			 size_t count, uint64_t max_work, bool *is_truncated)
{
	uint64_t work = 0;

	for (size_t i = 0; i < count; i++) {
		if (work > max_work) {
			*is_truncated = true;
			return false;
		}
		work += others[i].length;
		if (contains(&others[i], pattern))
			return true;
	}
	return false;
}

/*
 * Drops the patterns that a longer one of the same rows contains.  It suffices to compare with
 * those that stay, since what contains a dropped one is contained in one of them.  Each pattern has
 * a share of the work of its own, because the order of the sets differs from run to run.
 */
static void drop_contained(struct mine_list *list, uint64_t max_work, bool *is_truncated)
{
	size_t kept = 0, group = 0;

	sort_items(list->items, list->count, is_before_by_set);
	for (size_t i = 0; i < list->count; i++) {
		struct mine_found found = list->items[i];

		if (kept > group && !has_same_set(&found, &list->items[group]))
			group = kept;
		if (!is_contained(&found, &list->items[group], kept - group, max_work / list->count,
				  is_truncated))
			list->items[kept++] = found;
	}
	list->count = kept;
}

static void collect(struct mine_job *job, struct mine_list *list, struct mine_result *result)
{
	for (uint32_t i = 0; i < job->table->letter_count; i++) {
		struct mine_letter *letter = &job->letters[i];

		result->is_truncated |= letter->is_truncated;
		for (size_t k = 0; k < letter->found.count; k++)
			*vec_push(list) = letter->found.items[k];
		vec_done(&letter->found);
	}
}

/* Copies the patterns that the result can have. */
static void fill_result(struct mine_result *result, const struct mine_list *list, size_t max)
{
	result->count = list->count < max ? list->count : max;
	result->is_truncated |= list->count > max;
	result->patterns = must_alloc(result->count * sizeof(*result->patterns));
	result->arena = arena_new();
	for (size_t i = 0; i < result->count; i++) {
		const struct mine_found *found = &list->items[i];
		uint8_t *letters = arena_alloc(result->arena, found->length);

		memcpy(letters, found->letters, found->length);
		result->patterns[i] =
			(struct mine_pattern){ letters, found->length, found->support };
	}
}

static void mine_table_patterns(const struct mine_table *table, const struct mine_options *options,
				struct mine_result *result)
{
	_cleanup_(freep) struct mine_job *job = must_alloc(sizeof(*job));
	struct mine_list list = { 0 };

	job->table = table;
	job->bounds = *options;
	if (table->letter_count)
		job->bounds.max_work /= table->letter_count;
	run_threads(job);
	collect(job, &list, result);
	if (options->closed == MINE_CLOSED_ALL)
		drop_contained(&list, options->max_work, &result->is_truncated);
	sort_items(list.items, list.count, is_before);
	fill_result(result, &list, options->max_patterns);
	for (uint32_t i = 0; i < table->letter_count; i++)
		arena_free(job->letters[i].arena);
	vec_done(&list);
}

void mine_patterns(const struct mine_sequence *sequences, size_t count,
		   const struct mine_options *options, struct mine_result *ret)
{
	struct mine_table table;

	assert(count <= UINT32_MAX);
	*ret = (struct mine_result){ 0 };
	table_init(&table, sequences, count, options);
	mine_table_patterns(&table, options, ret);
	table_done(&table);
}

void mine_result_done(struct mine_result *result)
{
	free(result->patterns);
	arena_free(result->arena);
	*result = (struct mine_result){ 0 };
}
