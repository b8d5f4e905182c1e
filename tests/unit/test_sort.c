/* SPDX-License-Identifier: Apache-2.0 */
#include "record/sort.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "test.h"

enum { SEEN_MAX = 20000 };

/* The flushed records; the number of a record is its tid. */
struct seen {
	size_t count;
	size_t fail_at; /* records after which the callback fails; 0 for never */
	nsec_t times[SEEN_MAX];
	uint32_t numbers[SEEN_MAX];
	bool is_damaged;
};

/* A record of the given size, with a payload that depends on its number. */
static void add(struct sorter *sorter, size_t stream, nsec_t time, uint32_t number, uint8_t words)
{
	_Alignas(8) unsigned char room[256 * 8];
	struct record *record = (void *)room;

	memset(room, number % 251, sizeof(room));
	*record =
		(struct record){ .time = time, .tid = number, .kind = RECORD_RUN, .words = words };
	sorter_add(sorter, stream, record);
}

static int keep(void *arg, const struct record *record, struct err *err)
{
	struct seen *seen = arg;
	const unsigned char *bytes = (const void *)record;

	if (seen->fail_at && seen->count == seen->fail_at)
		return err_set(err, -EIO, "no more");
	for (size_t i = sizeof(*record); i < record->words * 8u; i++)
		seen->is_damaged |= bytes[i] != record->tid % 251;
	seen->times[seen->count % SEEN_MAX] = record->time;
	seen->numbers[seen->count++ % SEEN_MAX] = record->tid;
	return 0;
}

static int flush(struct sorter *sorter, nsec_t horizon, struct seen *seen)
{
	struct err err;

	return sorter_flush(sorter, horizon, keep, seen, &err);
}

static bool in_order(const struct seen *seen)
{
	for (size_t i = 1; i < seen->count; i++)
		if (seen->times[i - 1] > seen->times[i])
			return false;
	return true;
}

TEST(streams_are_merged_by_time)
{
	_cleanup_(sorter_freep) struct sorter *sorter = sorter_new(3);
	static struct seen seen;

	seen = (struct seen){ 0 };
	for (uint32_t i = 0; i < 9; i++)
		add(sorter, (i * 2) % 3, 100 + i, i, 4);
	CHECK_INT(flush(sorter, UINT64_MAX, &seen), 0);
	CHECK_INT(seen.count, 9);
	for (uint32_t i = 0; i < 9; i++)
		CHECK_INT(seen.numbers[i], i);
	CHECK_INT(sorter_late(sorter), 0);
}

TEST(records_of_equal_time_keep_the_order_of_their_stream)
{
	_cleanup_(sorter_freep) struct sorter *sorter = sorter_new(2);
	static struct seen seen;

	seen = (struct seen){ 0 };
	for (uint32_t i = 0; i < 3; i++) {
		add(sorter, 1, 50, 10 + i, 4);
		add(sorter, 0, 50, i, 4);
	}
	add(sorter, 0, 40, 9, 4);
	flush(sorter, 50, &seen);
	CHECK_INT(seen.count, 7);

	static const uint32_t want[] = { 9, 0, 1, 2, 10, 11, 12 };

	for (size_t i = 0; i < 7; i++)
		CHECK_INT(seen.numbers[i], want[i]);
}

TEST(a_slightly_late_record_is_sorted)
{
	_cleanup_(sorter_freep) struct sorter *sorter = sorter_new(1);
	static struct seen seen;
	static const nsec_t times[] = { 10, 30, 20, 50, 40, 15, 60, 5 };

	seen = (struct seen){ 0 };
	for (uint32_t i = 0; i < 8; i++)
		add(sorter, 0, times[i], times[i], 2 + i);
	flush(sorter, UINT64_MAX, &seen);
	CHECK_INT(seen.count, 8);
	CHECK(in_order(&seen));
	for (size_t i = 0; i < 8; i++)
		CHECK_INT(seen.numbers[i], seen.times[i]);
	CHECK_INT(sorter_late(sorter), 0);
	CHECK(!seen.is_damaged);
}

TEST(records_after_the_horizon_wait)
{
	_cleanup_(sorter_freep) struct sorter *sorter = sorter_new(2);
	static struct seen seen;

	seen = (struct seen){ 0 };
	for (uint32_t i = 1; i <= 10; i++)
		add(sorter, i % 2, i, i, 4);
	flush(sorter, 0, &seen);
	CHECK_INT(seen.count, 0);
	for (uint32_t i = 1; i <= 10; i++) {
		flush(sorter, i, &seen);
		CHECK_INT(seen.count, i);
		CHECK_INT(seen.numbers[i - 1], i);
	}
}

TEST(only_records_flushed_after_later_ones_are_late)
{
	_cleanup_(sorter_freep) struct sorter *sorter = sorter_new(2);
	static struct seen seen;

	seen = (struct seen){ 0 };
	add(sorter, 0, 100, 1, 4);
	flush(sorter, UINT64_MAX, &seen);
	add(sorter, 0, 100, 2, 4);
	flush(sorter, UINT64_MAX, &seen);
	CHECK_INT(sorter_late(sorter), 0);
	add(sorter, 1, 99, 3, 4);
	add(sorter, 0, 50, 4, 4);
	flush(sorter, UINT64_MAX, &seen);
	CHECK_INT(sorter_late(sorter), 2);
	add(sorter, 1, 99, 5, 4);
	flush(sorter, UINT64_MAX, &seen);
	CHECK_INT(sorter_late(sorter), 3); /* the latest time counts, not the last */
	CHECK_INT(seen.count, 5);
}

TEST(a_failing_callback_stops_the_flush)
{
	_cleanup_(sorter_freep) struct sorter *sorter = sorter_new(2);
	static struct seen seen;

	seen = (struct seen){ .fail_at = 3 };
	for (uint32_t i = 1; i <= 10; i++)
		add(sorter, i % 2, i, i, 4);
	CHECK_INT(flush(sorter, UINT64_MAX, &seen), -EIO);
	CHECK_INT(seen.count, 3);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_INT(seen.numbers[i], i + 1);
}

/* Records that have to move past more than STEPS_MAX others. */
TEST(very_late_records_are_sorted)
{
	_cleanup_(sorter_freep) struct sorter *sorter = sorter_new(2);
	static struct seen seen;
	size_t got;

	seen = (struct seen){ 0 };
	for (uint32_t i = 0; i < 1000; i++) {
		add(sorter, 0, 10000 + i, i, 4);
		add(sorter, 1, 20000 - i, 1000 + i, 3 + i % 7);
		add(sorter, 1, 15000 + i % 10, 2000 + i, 5); /* of equal time, too */
	}
	flush(sorter, 15004, &seen);
	got = seen.count;
	CHECK_INT(got, 1000 + 500);
	flush(sorter, UINT64_MAX, &seen);
	CHECK_INT(seen.count, 3000);
	CHECK(in_order(&seen));
	CHECK(!seen.is_damaged);
	CHECK_INT(sorter_late(sorter), 0);
	for (size_t i = 1; i < seen.count; i++)
		CHECK(seen.times[i - 1] < seen.times[i] || seen.numbers[i - 1] < seen.numbers[i]);
}

/* Random sizes, times and horizons: streams grow and are packed in all states. */
TEST(random_streams_come_out_complete_and_sorted)
{
	_cleanup_(sorter_freep) struct sorter *sorter = sorter_new(5);
	static struct seen seen;
	static bool was_seen[SEEN_MAX];
	uint64_t n = 88172645463325252ull;

	seen = (struct seen){ 0 };
	for (uint32_t i = 0; i < SEEN_MAX; i++) {
		n ^= n << 13, n ^= n >> 7, n ^= n << 17;
		/* up to 500 late, and a stream that is mostly ahead of its horizon */
		add(sorter, n % 5, 1000 + i + (n >> 8) % 500 + (n % 5 == 4 ? 3000 : 0), i,
		    2 + (n >> 20) % 200);
		if ((n >> 40) % 300 == 0)
			flush(sorter, 1000 + i, &seen);
	}
	flush(sorter, UINT64_MAX, &seen);
	CHECK_INT(seen.count, SEEN_MAX);
	CHECK(in_order(&seen));
	CHECK(!seen.is_damaged);
	CHECK_INT(sorter_late(sorter), 0);
	for (size_t i = 0; i < SEEN_MAX; i++) {
		CHECK(seen.numbers[i] < SEEN_MAX && !was_seen[seen.numbers[i] % SEEN_MAX]);
		was_seen[seen.numbers[i] % SEEN_MAX] = true;
	}
}

static long peak_kilobytes(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* 120 MB pass through the sorter, but only a small part at a time. */
TEST(memory_of_flushed_records_is_reused)
{
	_cleanup_(sorter_freep) struct sorter *sorter = sorter_new(2);
	static struct seen seen;
	long before = peak_kilobytes();

	seen = (struct seen){ 0 };
	for (uint32_t i = 0; i < 60000; i++) {
		add(sorter, i % 2, i, i, 250);
		if (i % 1000 == 999)
			flush(sorter, i - 100, &seen);
	}
	flush(sorter, UINT64_MAX, &seen);
	CHECK_INT(seen.count, 60000);
	CHECK(peak_kilobytes() - before < 48 * 1024);
}
