/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of random sequences, beside an enumeration of all patterns.
 *
 * The enumeration lists the words of all appearances in each sequence, and applies the definitions
 * of support and closed patterns to the list.  SONDE_MINE_ROUNDS is the number of random databases.
 */
#include "analyse/mine.h"
#include "base/sort.h"
#include "base/vec.h"
#include "test.h"

enum { SEQUENCES = 7, LENGTH = 9, FILLER = 140, ROUNDS = 50000 };

/* A pattern as a number: three bits for each letter, and a 1 before the first. */
struct word {
	uint64_t letters;
	uint32_t rows; /* one bit for each sequence */
	uint64_t support;
};

struct database {
	uint8_t letters[SEQUENCES][FILLER + LENGTH];
	struct mine_sequence sequences[SEQUENCES];
	uint32_t count;
	struct mine_options options;
	VEC(struct word) words;
};

static uint64_t state;

/* A number below a limit, by splitmix64. */
static uint32_t random_below(uint32_t limit)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (uint32_t)((z ^ z >> 31) >> 32) % limit;
}

/* Letters that occur in one sequence only move the others across the words of a mask. */
static void make_sequence(struct database *db, uint32_t i, uint32_t alphabet, bool is_moved)
{
	uint32_t before = is_moved ? random_below(FILLER) : 0, length = random_below(LENGTH + 1);

	memset(db->letters[i], (int)(100 + i), before);
	for (uint32_t k = 0; k < length; k++)
		db->letters[i][before + k] = (uint8_t)(1 + random_below(alphabet));
	db->sequences[i] = (struct mine_sequence){ db->letters[i], before + length,
						   is_moved ? 1 : random_below(4) };
}

static void make_database(struct database *db)
{
	static const struct mine_gap gaps[] = { { 0, 0 }, { 0, 1 },   { 0, 2 }, { 0, 3 },
						{ 1, 2 }, { 1, 1 },   { 2, 3 }, { 1, 3 },
						{ 2, 2 }, { 0, 100 }, { 3, 1 } };
	uint32_t alphabet = 1 + random_below(4);
	bool is_moved = random_below(3) == 0;

	db->count = 1 + random_below(SEQUENCES);
	for (uint32_t i = 0; i < db->count; i++)
		make_sequence(db, i, alphabet, is_moved);
	db->options = mine_defaults;
	db->options.gap = gaps[random_below(ARRAY_LEN(gaps))];
	db->options.closed = random_below(2) ? MINE_CLOSED_ALL : MINE_CLOSED_ENDS;
	db->options.threads = 1 + random_below(20) / 19;
	db->options.support = (is_moved ? 2 : 1) + random_below(6);
	db->words.count = 0;
}

/* Adds the words of all appearances that go on from a position. */
static void list_words(struct database *db, uint32_t row, uint64_t prefix, uint32_t at)
{
	const struct mine_sequence *s = &db->sequences[row];
	uint64_t letters = prefix << 3 | s->letters[at];

	*vec_push(&db->words) = (struct word){ letters, 1u << row, 0 };
	for (uint64_t next = (uint64_t)at + 1 + db->options.gap.least;
	     next <= (uint64_t)at + 1 + db->options.gap.most && next < s->length; next++)
		list_words(db, row, letters, (uint32_t)next);
}

static bool is_before(const struct word *a, const struct word *b)
{
	return a->letters < b->letters;
}

/* All frequent patterns, in order. */
static void list_frequent(struct database *db)
{
	size_t count = 0, kept = 0;

	for (uint32_t i = 0; i < db->count; i++)
		for (uint32_t k = 0; k < db->sequences[i].length && db->sequences[i].weight; k++)
			if (db->letters[i][k] < 8)
				list_words(db, i, 1, k);
	sort_items(db->words.items, db->words.count, is_before);
	for (size_t i = 0; i < db->words.count; i++) {
		struct word word = db->words.items[i];

		if (count && db->words.items[count - 1].letters == word.letters)
			db->words.items[count - 1].rows |= word.rows;
		else
			db->words.items[count++] = word;
	}
	for (size_t i = 0; i < count; i++) {
		struct word word = db->words.items[i];

		for (uint32_t k = 0; k < db->count; k++)
			word.support += word.rows >> k & 1 ? db->sequences[k].weight : 0;
		if (word.support >= db->options.support)
			db->words.items[kept++] = word;
	}
	db->words.count = kept;
}

static uint32_t length_of(uint64_t letters)
{
	return (uint32_t)(63 - __builtin_clzll(letters)) / 3;
}

static bool is_subsequence(uint64_t part, uint64_t whole)
{
	for (; part > 1 && whole > 1; whole >>= 3)
		if ((part & 7) == (whole & 7))
			part >>= 3;
	return part == 1;
}

/* Whether a longer word shows that a word is not closed. */
static bool closes(const struct database *db, const struct word *word, const struct word *longer)
{
	uint32_t length = length_of(word->letters);

	if (longer->rows != word->rows || length_of(longer->letters) <= length)
		return false;
	if (db->options.closed == MINE_CLOSED_ALL)
		return is_subsequence(word->letters, longer->letters);
	if (length_of(longer->letters) != length + 1)
		return false;
	return longer->letters >> 3 == word->letters ||
	       ((longer->letters ^ word->letters) & ((1ull << 3 * length) - 1)) == 0;
}

static bool is_closed(const struct database *db, const struct word *word)
{
	for (size_t i = 0; i < db->words.count; i++)
		if (closes(db, word, &db->words.items[i]))
			return false;
	return true;
}

static uint64_t pack(const struct mine_pattern *pattern)
{
	uint64_t letters = 1;

	for (uint32_t i = 0; i < pattern->length; i++)
		letters = letters << 3 | pattern->letters[i];
	return letters;
}

static const struct word *find_word(const struct database *db, uint64_t letters)
{
	for (size_t i = 0; i < db->words.count; i++)
		if (db->words.items[i].letters == letters)
			return &db->words.items[i];
	return NULL;
}

static bool is_ordered(const struct mine_pattern *a, const struct mine_pattern *b)
{
	if (a->length != b->length)
		return a->length > b->length;
	if (a->support != b->support)
		return a->support > b->support;
	return memcmp(a->letters, b->letters, a->length) < 0;
}

/* The first appearance in the order of positions, found by trying all of them. */
static bool search(const struct database *db, const struct mine_sequence *s,
		   const struct mine_pattern *p, uint32_t done, uint32_t *positions)
{
	const struct mine_gap *gap = &db->options.gap;
	uint64_t from = done ? (uint64_t)positions[done - 1] + 1 + gap->least : 0;
	uint64_t to = done ? (uint64_t)positions[done - 1] + 1 + gap->most : s->length;

	if (done == p->length)
		return true;
	for (uint64_t i = from; i <= to && i < s->length; i++) {
		positions[done] = (uint32_t)i;
		if (s->letters[i] == p->letters[done] && search(db, s, p, done + 1, positions))
			return true;
	}
	return false;
}

static bool finds_leftmost(const struct database *db, const struct mine_pattern *p)
{
	for (uint32_t i = 0; i < db->count; i++) {
		const struct mine_sequence *s = &db->sequences[i];
		uint32_t want[LENGTH], got[LENGTH];
		bool appears = search(db, s, p, 0, want);

		if (mine_find(s->letters, s->length, p->letters, p->length, &db->options.gap,
			      got) != appears)
			return false;
		if (appears && memcmp(got, want, p->length * sizeof(*got)) != 0)
			return false;
	}
	return true;
}

/* Compares one database; returns whether all is equal. */
static bool compare(struct database *db)
{
	struct mine_result result;
	size_t closed = 0;
	bool is_equal;

	mine_patterns(db->sequences, db->count, &db->options, &result);
	list_frequent(db);
	for (size_t i = 0; i < db->words.count; i++)
		closed += is_closed(db, &db->words.items[i]);
	is_equal = closed == result.count && !result.is_truncated;
	for (size_t i = 0; i < result.count && is_equal; i++) {
		const struct mine_pattern *p = &result.patterns[i];
		const struct word *word = find_word(db, pack(p));

		is_equal = word && word->support == p->support && is_closed(db, word) &&
			   (i == 0 || is_ordered(p - 1, p)) && finds_leftmost(db, p);
	}
	mine_result_done(&result);
	return is_equal;
}

TEST(patterns_are_those_of_an_enumeration)
{
	const char *rounds = getenv("SONDE_MINE_ROUNDS");
	struct database *db = must_alloc(sizeof(*db));
	uint64_t count = rounds ? strtoull(rounds, NULL, 10) : ROUNDS;

	for (uint64_t i = 0; i < count && !test_failures; i++) {
		state = i << 20;
		make_database(db);
		if (!compare(db)) {
			printf("# database %" PRIu64 "\n", i);
			CHECK(false);
		}
	}
	vec_done(&db->words);
	free(db);
}
