/* SPDX-License-Identifier: Apache-2.0 */
/* The write queue with a slow or broken disk. */
#include "event/write_queue.h"

#include <errno.h>
#include <string.h>

#include "test.h"

enum { HEADER = 8, SIZE = 64, BLOCKS = 53 };

static struct disk {
	useconds_t pause; /* before each write */
	size_t broken_at; /* number of writes that succeed; 0: all */
	size_t writes;
	uint64_t at[2 * BLOCKS]; /* offset of each write */
} disk;

static int write_slowly(int fd, const void *data, size_t size, uint64_t at)
{
	(void)fd;
	(void)data;
	(void)size;
	usleep(disk.pause);
	if (disk.broken_at && disk.writes == disk.broken_at)
		return -EIO;
	disk.at[disk.writes++] = at;
	return 0;
}

static int put(struct write_queue *q, uint64_t n)
{
	return write_queue_put(q, must_alloc(SIZE), SIZE, HEADER, n * SIZE);
}

TEST(the_caller_waits_for_a_slow_disk_only_beyond_the_limit)
{
	disk = (struct disk){ .pause = 20000 };
	_cleanup_(write_queue_freep) struct write_queue *q =
		write_queue_new(-1, 9 * SIZE, 0, write_slowly);

	for (uint64_t i = 0; i < 10; i++)
		CHECK_INT(put(q, i), 0);
	CHECK(__atomic_load_n(&disk.writes, __ATOMIC_RELAXED) < 10);
	CHECK_INT(put(q, 10), 0); /* waits until there is room */
	CHECK(__atomic_load_n(&disk.writes, __ATOMIC_RELAXED) >= 2);
}

TEST(blocks_are_written_in_order_and_payloads_before_headers)
{
	disk = (struct disk){ 0 };
	_cleanup_(write_queue_freep) struct write_queue *q =
		write_queue_new(-1, 3 * SIZE, 0, write_slowly);

	for (uint64_t i = 0; i < BLOCKS; i++)
		CHECK_INT(put(q, i), 0);
	CHECK_INT(write_queue_flush(q), 0);
	CHECK_INT(disk.writes, 2 * BLOCKS);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		CHECK_INT(disk.at[2 * i], i * SIZE + HEADER);
		CHECK_INT(disk.at[2 * i + 1], i * SIZE);
	}
	CHECK_INT(write_queue_end(q), BLOCKS * SIZE);
}

TEST(after_a_failure_nothing_is_written_and_the_caller_gets_the_error)
{
	disk = (struct disk){ .broken_at = 7 };
	_cleanup_(write_queue_freep) struct write_queue *q =
		write_queue_new(-1, 3 * SIZE, 0, write_slowly);
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < BLOCKS; i++)
		r = put(q, i);
	CHECK_INT(r, -EIO);
	CHECK_INT(put(q, 99), -EIO);
	CHECK_INT(write_queue_flush(q), -EIO);
	CHECK_INT(disk.writes, 7);
	CHECK_INT(write_queue_end(q), 3 * SIZE);
}
