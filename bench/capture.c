/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture - the speed of writing and reading captures.
 *
 * Writes a number of records, half RUN and half WAIT, and reads them back.  For
 * comparison, it also does the minimum with the same number of bytes: write(2)
 * them in pieces of 1 MiB, and add them up in a mapping.  Prints the number of
 * records and bytes, and the ns per record of these four.  It does not flush, so
 * that the disk is not measured.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "clock.h"
#include "event/capture.h"

static _Noreturn void fail(const struct err *err)
{
	fprintf(stderr, "bench-capture: %s\n", err->text);
	exit(1);
}

/* The i-th pair of records: an on-CPU slice, then a wait. */
static void write_pair(struct capture_writer *writer, uint64_t i, struct err *err)
{
	struct record head = { .time = 1000 * (i + 1), .tid = 1000 + (uint32_t)(i / 2 % 61) };
	struct record_run run = { .head = head, .start = head.time - 700 };
	struct record_wait wait = {
		.head = head,
		.start = head.time - 900,
		.woken = head.time - 100,
		.object = 4711,
		.waker = 99,
		.syscall = 202,
		.state = STATE_LOCK,
		.ready = STATE_READY,
		.context = WAKE_TASK,
		.object_kind = OBJECT_FUTEX,
	};

	run.head.kind = RECORD_RUN;
	run.head.words = sizeof(run) / 8;
	wait.head.kind = RECORD_WAIT;
	wait.head.words = sizeof(wait) / 8;
	if (capture_write(writer, i % 2 ? &wait.head : &run.head, err) < 0)
		fail(err);
}

static void write_capture(const char *path, uint64_t count)
{
	const struct capture_meta meta = { .host = "bench",
					   .kernel = "",
					   .machine = "",
					   .command = "",
					   .tool = "bench",
					   .cpu_count = 1 };
	_cleanup_(capture_writer_freep) struct capture_writer *writer = NULL;
	struct err err;

	if (capture_create(path, &meta, &writer, &err) < 0)
		fail(&err);
	for (uint64_t i = 0; i < count; i++)
		write_pair(writer, i, &err);
	if (capture_close(writer, &err) < 0)
		fail(&err);
}

static void read_capture(const char *path, uint64_t count)
{
	_cleanup_(capture_freep) struct capture *cap = NULL;
	struct capture_cursor cursor;
	const struct record *record;
	uint64_t found = 0;
	struct err err;
	int r;

	if (capture_open(path, &cap, &err) < 0)
		fail(&err);
	capture_cursor_init(&cursor, cap, 0, UINT64_MAX);
	while ((r = capture_next(&cursor, &record, &err)) > 0)
		found += record->kind == RECORD_RUN || record->kind == RECORD_WAIT;
	if (r < 0)
		fail(&err);
	if (found != count) {
		fprintf(stderr, "bench-capture: read %lu records of %lu\n", found, count);
		exit(1);
	}
}

static void write_bytes(const char *path, size_t size)
{
	static char piece[1 << 20];
	_cleanup_(closep) int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);

	for (size_t done = 0; done < size; done += sizeof(piece))
		if (write(fd, piece, sizeof(piece)) != sizeof(piece))
			die("cannot write");
}

static uint64_t add_bytes(const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		die("cannot open");
	size_t size = (size_t)st.st_size;
	const uint64_t *words = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED)
		die("cannot map");
	uint64_t sum = 0;
	for (size_t i = 0; i < size / 8; i++)
		sum += words[i];
	munmap((void *)words, size);
	return sum;
}

static size_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (size_t)st.st_size;
}

int main(int argc, char **argv)
{
	if (argc != 3 && !(argc == 4 && strcmp(argv[3], "keep") == 0)) {
		fprintf(stderr, "usage: bench-capture FILE RECORDS [keep]\n");
		return 2;
	}
	const char *path = argv[1];
	uint64_t count = strtoull(argv[2], NULL, 10);
	if (argc == 4) {
		write_capture(path, count);
		return 0;
	}
	nsec_t t[5];

	t[0] = clock_now(CLOCK_MONOTONIC);
	write_capture(path, count);
	t[1] = clock_now(CLOCK_MONOTONIC);
	read_capture(path, count);
	t[2] = clock_now(CLOCK_MONOTONIC);
	size_t size = size_of(path);
	write_bytes(path, size);
	t[3] = clock_now(CLOCK_MONOTONIC);
	volatile uint64_t sum = add_bytes(path);
	(void)sum;
	t[4] = clock_now(CLOCK_MONOTONIC);
	unlink(path);

	printf("%lu %zu", count, size);
	for (int i = 0; i < 4; i++)
		printf(" %.2f", (double)(t[i + 1] - t[i]) / (double)count);
	printf("\n");
	return 0;
}
