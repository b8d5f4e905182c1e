/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sort.h"

#include <time.h>

#include "base/vec.h"
#include "test.h"

/* The flushed records. */
struct seen {
	size_t count,
		wrong; /* wrong: before its predecessor by time, or by number at equal times */
	nsec_t last;
	uint32_t last_number;
};

/* Records are numbered in the order in which they are added. */
static void add(struct sorter *sorter, size_t stream, nsec_t time, uint32_t number)
{
	struct record_exit r = {
		.head = { .time = time, .tid = number, .kind = RECORD_EXIT, .words = sizeof(r) / 8 }
	};

	sorter_add(sorter, stream, &r.head);
}

static int see(void *arg, const struct record *record, struct err *err)
{
	struct seen *seen = arg;

	(void)err;
	seen->wrong += record->kind != RECORD_EXIT || record->time < seen->last ||
		       (record->time == seen->last && record->tid < seen->last_number);
	seen->count++;
	seen->last = record->time;
	seen->last_number = record->tid;
	return 0;
}

static void flush(struct sorter *sorter, nsec_t horizon, struct seen *seen)
{
	struct err err;

	CHECK_INT(sorter_flush(sorter, horizon, see, seen, &err), 0);
}

TEST(streams_are_merged_by_time_up_to_the_horizon)
{
	_cleanup_(sorter_freep) struct sorter *sorter = sorter_new(2);
	struct seen seen = { 0 };

	add(sorter, 0, 10, 1);
	add(sorter, 0, 30, 2);
	add(sorter, 1, 20, 3);
	add(sorter, 1, 40, 4);
	flush(sorter, 30, &seen);
	CHECK_INT(seen.count, 3);
	flush(sorter, UINT64_MAX, &seen);
	CHECK_INT(seen.count, 4);
	CHECK_INT(seen.wrong, 0);
	CHECK_INT(sorter_late(sorter), 0);
	add(sorter, 1, 39, 5);
	flush(sorter, UINT64_MAX, &seen);
	CHECK_INT(sorter_late(sorter), 1);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

/* Times from a small range: many are equal, and many records are far out of order. */
TEST(any_input_is_sorted_and_equal_times_keep_their_order)
{
	enum { ROUNDS = 40, EACH = 500, RANGE = 300 };
	_cleanup_(sorter_freep) struct sorter *sorter = sorter_new(1);
	struct seen seen = { 0 };
	uint64_t state = 7;
	uint32_t number = 0;

	for (nsec_t round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < EACH; i++)
			add(sorter, 0, round * 100 + next_random(&state) % RANGE + 1, ++number);
		flush(sorter, round * 100, &seen); /* later records are not earlier than this */
	}
	flush(sorter, UINT64_MAX, &seen);
	CHECK_INT(seen.count, ROUNDS * EACH);
	CHECK_INT(seen.wrong, 0);
	CHECK_INT(sorter_late(sorter), 0);
}

/* Seconds to sort decreasing times, in batches that are sorted or not. */
static double sort_backwards(size_t count, size_t batch)
{
	_cleanup_(sorter_freep) struct sorter *sorter = sorter_new(1);
	struct seen seen = { 0 };
	clock_t begin = clock();

	for (size_t i = 0; i < count; i += batch)
		for (size_t k = 0; k < batch; k++)
			add(sorter, 0, 10 + count - i + k, 1);
	flush(sorter, UINT64_MAX, &seen);
	CHECK_INT(seen.count, count);
	CHECK_INT(seen.wrong, 0);
	return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

TEST(decreasing_times_take_n_log_n)
{
	/* insertion sort takes 40 s */
	CHECK(sort_backwards(300000, 1) < 3);
	CHECK(sort_backwards(300000, 1000) < 3);
}
