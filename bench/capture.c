/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture - the cost of writing and reading captures and streams.
 *
 * Writes a number of records, half RUN and half WAIT, to a file, and reads them back; then the same
 * through a socket, to another thread.  For comparison, it also does the minimum with the same
 * number of bytes: write(2) them in pieces of 1 MiB, and add them up in a mapping.  Prints the
 * number of records and bytes, and the CPU time per record of these six, in ns.  It does not flush,
 * so that the disk is not measured.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "clock.h"
#include "event/capture.h"
#include "event/stream_read.h"
#include "event/stream_write.h"

static _Noreturn void fail(const struct err *err)
{
	fprintf(stderr, "bench-capture: %s\n", err->text);
	exit(1);
}

static const struct capture_meta meta = { .host = "bench", .tool = "bench", .cpu_count = 1 };

/* A writer of a file, or of a stream. */
struct output {
	struct capture_writer *file;
	struct stream_writer *stream;
};

/* The i-th record: an on-CPU slice, or a wait. */
static void write_record(const struct output *to, uint64_t i, struct err *err)
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

	const struct record *record = i % 2 ? &wait.head : &run.head;
	int r = to->file ? capture_write(to->file, record, err)
			 : stream_writer_write(to->stream, record, err);

	if (r < 0)
		fail(err);
}

static void write_capture(const char *path, uint64_t count)
{
	_cleanup_(capture_writer_freep) struct capture_writer *writer = NULL;
	struct err err;

	if (capture_create(path, &meta, &writer, &err) < 0)
		fail(&err);
	for (uint64_t i = 0; i < count; i++)
		write_record(&(struct output){ .file = writer }, i, &err);
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

struct stream_end {
	int fd;
	uint64_t found;
	nsec_t cpu; /* of the thread */
};

static void *read_stream(void *arg)
{
	_cleanup_(stream_reader_freep) struct stream_reader *reader = stream_reader_new("stream");
	struct stream_end *end = arg;
	const struct record *record;
	struct err err;
	int r;

	while ((r = stream_reader_next(reader, &record, &err)) != 0) {
		if (r > 0)
			end->found += record->kind == RECORD_RUN || record->kind == RECORD_WAIT;
		else if (r != -EAGAIN || stream_reader_read(reader, end->fd, &err) < 0)
			fail(&err);
	}
	end->cpu = clock_now(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

/* Like the recorder, write without waiting, and wait in between until the socket is writable. */
static void write_stream(int fd, uint64_t count)
{
	_cleanup_(stream_writer_freep) struct stream_writer *writer =
		stream_writer_new(fd, &meta, SIZE_MAX);
	struct pollfd writable = { .fd = fd, .events = POLLOUT };
	struct err err;

	for (uint64_t i = 0; i < count; i++) {
		write_record(&(struct output){ .stream = writer }, i, &err);
		while (i % 4096 == 0 && stream_writer_has_queued(writer)) {
			poll(&writable, 1, -1);
			if (stream_writer_poll(writer, i, &err) < 0)
				fail(&err);
		}
	}
	if (stream_writer_close(writer, 10 * NSEC_PER_SEC, &err) < 0)
		fail(&err);
}

/* CPU time of the writing and of the reading thread. */
static void measure_stream(uint64_t count, nsec_t *ret_write, nsec_t *ret_read)
{
	nsec_t before = clock_now(CLOCK_THREAD_CPUTIME_ID);
	struct stream_end end = { 0 };
	pthread_t reader;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		die("cannot create sockets");
	end.fd = fds[0];
	if (pthread_create(&reader, NULL, read_stream, &end))
		die("cannot start a thread");
	write_stream(fds[1], count);
	close(fds[1]);
	*ret_write = clock_now(CLOCK_THREAD_CPUTIME_ID) - before;
	pthread_join(reader, NULL);
	close(fds[0]);
	*ret_read = end.cpu;
	if (end.found != count)
		die("records are missing from the stream");
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
	nsec_t t[5], stream[2];

	t[0] = clock_now(CLOCK_THREAD_CPUTIME_ID);
	write_capture(path, count);
	t[1] = clock_now(CLOCK_THREAD_CPUTIME_ID);
	read_capture(path, count);
	t[2] = clock_now(CLOCK_THREAD_CPUTIME_ID);
	size_t size = size_of(path);
	write_bytes(path, size);
	t[3] = clock_now(CLOCK_THREAD_CPUTIME_ID);
	volatile uint64_t sum = add_bytes(path);
	(void)sum;
	t[4] = clock_now(CLOCK_THREAD_CPUTIME_ID);
	unlink(path);
	measure_stream(count, &stream[0], &stream[1]);

	printf("%lu %zu", count, size);
	for (int i = 0; i < 4; i++)
		printf(" %.2f", (double)(t[i + 1] - t[i]) / (double)count);
	for (int i = 0; i < 2; i++)
		printf(" %.2f", (double)stream[i] / (double)count);
	printf("\n");
	return 0;
}
