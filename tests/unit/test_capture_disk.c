/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures in real files: full disks, killed writers, and paths that are not
 * regular files.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "build.h"
#include "bytes.h"
#include "test.h"

/* The most bytes that a call of pwrite() writes, between interrupted calls; 0: unlimited. */
static size_t write_at_most;

/* Replaces the function of the C library. */
ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
	static unsigned int calls;

	if (write_at_most && calls++ % 2) {
		errno = EINTR;
		return -1;
	}
	if (write_at_most && size > write_at_most)
		size = write_at_most;
	return syscall(SYS_pwrite64, fd, data, size, at);
}

/* The n-th record of a series, with a string that a few of them share. */
static int write_nth(struct capture_writer *w, uint32_t n, struct err *err)
{
	char name[32];

	snprintf(name, sizeof(name), "thread %u", n / 97);
	uint32_t comm = capture_add_string(w, name);

	return capture_write(w, REC(TASK, task, n, n, .pid = n, .comm = comm), err);
}

/* Check that a capture contains a prefix of that series, and return its length. */
static uint32_t read_series(const char *path, uint64_t *ret_end)
{
	_cleanup_(capture_freep) struct capture *cap = NULL;
	const struct record *record;
	struct capture_cursor cur;
	struct err err = { "" };
	uint32_t n = 0;
	char name[32];
	int r;

	CHECK_INT(capture_open(path, &cap, &err), 0);
	CHECK_STR(err.text, "");
	if (!cap)
		return 0;
	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	for (; (r = capture_next(&cur, &record, &err)) > 0; n++) {
		const struct record_task *task = (const struct record_task *)record;

		snprintf(name, sizeof(name), "thread %u", n / 97);
		if (task->pid != n || strcmp(capture_get_string(cap, task->comm), name) != 0)
			break;
	}
	CHECK_INT(r, 0);
	CHECK_STR(err.text, "");
	CHECK(!capture_is_complete(cap, ret_end));
	return n;
}

TEST(short_writes_produce_the_same_capture)
{
	const char *path = scratch("parts");
	_cleanup_(capture_writer_freep) struct capture_writer *w = NULL;
	struct err err;

	write_at_most = 13;
	w = build_capture(path);
	for (uint32_t i = 0; i < 1009; i++)
		CHECK_INT(write_nth(w, i, &err), 0);
	CHECK_INT(capture_flush(w, &err), 0);
	write_at_most = 0;
	CHECK_INT(read_series(path, NULL), 1009);
}

/* Write until the disk is full, which must happen before n records. */
static void fill_up(const char *path, int expected, uint32_t n, bool behind)
{
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(path);
	struct err first = { "" }, again = { "" };
	struct stat st;
	uint64_t end;
	int r = behind ? capture_write_behind(w, 1 << 20, &first) : 0;

	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = write_nth(w, i, &first);
	CHECK_INT(r, expected);
	CHECK(strstr(first.text, strerror(-expected)));
	CHECK(!strstr(first.text, "and cannot truncate"));
	CHECK_INT(capture_write(w, REC(RUN, run, 1, 1, .start = 1), &again), expected);
	CHECK_STR(again.text, first.text);
	again.text[0] = 0;
	CHECK_INT(capture_flush(w, &again), expected);
	CHECK_STR(again.text, first.text);
	again.text[0] = 0;
	CHECK_INT(capture_close(w, &again), expected);
	CHECK_STR(again.text, first.text);

	CHECK(stat(path, &st) == 0 && (uint64_t)st.st_size == capture_size(w));
	CHECK(read_series(path, &end) > 0);
	CHECK_INT(end, st.st_size);
}

static void fill_limit(void)
{
	struct rlimit limit = { 2000000, 2000000 };

	signal(SIGXFSZ, SIG_IGN);
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
	fill_up(scratch("limit"), -EFBIG, 1000000, false);
	fill_up(scratch("limit"), -EFBIG, 1000000, true);
}

TEST(a_file_size_limit_leaves_complete_blocks)
{
	scratch(""); /* create the parent's directory, which the parent removes */
	in_child(fill_limit);
}

/* Mount a tiny file system in a private namespace; returns whether that worked. */
static bool mount_tiny(const char *dir)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tiny", dir, "tmpfs", 0, "size=1m") == 0;
}

enum { CANNOT_MOUNT = 77 };

static void fill_tmpfs(void)
{
	_cleanup_(freep) char *dir = must_strdup(scratch("tiny"));
	_cleanup_(freep) char *path = must_printf("%s/x.sonde", dir);

	if (!mount_tiny(dir))
		_exit(CANNOT_MOUNT);
	fill_up(path, -ENOSPC, 1000000, false);
	fill_up(path, -ENOSPC, 1000000, true);
}

TEST(a_full_disk_leaves_complete_blocks)
{
	CHECK_INT(mkdir(scratch("tiny"), 0755), 0);
	if (in_child(fill_tmpfs) == CANNOT_MOUNT)
		SKIP("cannot mount a tmpfs: needs CAP_SYS_ADMIN");
}

/* Write records into small and large blocks, until it is killed. */
static void write_forever(const char *path)
{
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(path);
	struct err err;

	for (uint32_t n = 0;; n++)
		if (write_nth(w, n, &err) < 0 || (n % 1009 == 0 && capture_flush(w, &err) < 0))
			_exit(1);
}

/* Kill a recorder once its file has this size; returns the number of readable records. */
static uint32_t kill_at(const char *path, off_t size)
{
	struct stat st;
	uint64_t end;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid < 0)
		return 0;
	if (pid == 0)
		write_forever(path);
	while (stat(path, &st) < 0 || st.st_size < size) {
		if (waitpid(pid, NULL, WNOHANG) != 0) {
			CHECK(!"the recorder ended by itself");
			return 0;
		}
		sched_yield();
	}
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
	return read_series(path, &end);
}

TEST(a_killed_recorder_leaves_complete_blocks)
{
	_cleanup_(freep) char *path = must_strdup(scratch("killed"));

	for (int round = 0; round < 47; round++) {
		CHECK(kill_at(path, 50000 * (round + 1)) > 500 * (uint32_t)round);
		CHECK_INT(unlink(path), 0);
	}
}

static const char *create_error(const char *path)
{
	static struct err err;
	struct capture_writer *w = NULL;

	err.text[0] = 0;
	CHECK(capture_create(path, &build_meta, &w, &err) < 0);
	CHECK(!w);
	return err.text;
}

TEST(a_capture_is_only_written_to_a_regular_file)
{
	const char *fifo = scratch("fifo");

	CHECK_INT(mkfifo(fifo, 0600), 0);
	CHECK(strstr(create_error(fifo), "fifo': not a regular file"));
	CHECK_STR(create_error("/dev/full"), "cannot write '/dev/full': not a regular file");
	CHECK_STR(create_error("/dev"), "cannot write '/dev': not a regular file");
	CHECK_STR(create_error("/nowhere/x"),
		  "cannot write '/nowhere/x': No such file or directory");
}

static const char *open_error(const char *path)
{
	static struct err err;
	struct capture *cap = NULL;

	err.text[0] = 0;
	CHECK(capture_open(path, &cap, &err) < 0);
	CHECK(!cap);
	return err.text;
}

TEST(a_file_that_is_not_a_capture_has_a_clear_message)
{
	_cleanup_(freep) char *path = must_strdup(scratch("strange"));
	struct bytes text = { (unsigned char *)"hello, world\n", 13 };

	CHECK_STR(open_error("/"), "cannot open '/': not a regular file");
	CHECK_STR(open_error("/dev/zero"), "cannot open '/dev/zero': not a regular file");
	CHECK_STR(open_error("/nowhere"), "cannot open '/nowhere': No such file or directory");
	CHECK(strstr(open_error("/proc/self/exe"), "is not a sonde capture: bad magic"));
	CHECK_INT(mkfifo(path, 0600), 0);
	CHECK(strstr(open_error(path), "': not a regular file"));
	CHECK_INT(unlink(path), 0);
	bytes_write(&text, path);
	CHECK(strstr(open_error(path), "' is not a sonde capture: bad magic at offset 0"));
	text.size = 0;
	bytes_write(&text, path);
	CHECK(strstr(open_error(path), "' is empty, not a sonde capture"));
}

TEST(a_replaced_capture_stays_readable_for_open_readers)
{
	_cleanup_(freep) char *path = must_strdup(scratch("replaced"));
	struct capture_writer *w = build_capture(path);
	_cleanup_(capture_freep) struct capture *cap = NULL;
	const struct record *record;
	struct capture_cursor cur;
	struct err err = { "" };
	uint32_t n = 0;

	for (uint32_t i = 0; i < 50021; i++)
		CHECK_INT(write_nth(w, i, &err), 0);
	build_close(w);
	capture_writer_free(w);
	CHECK_INT(capture_open(path, &cap, &err), 0);

	w = build_capture(path);
	build_close(w);
	capture_writer_free(w);
	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	while (capture_next(&cur, &record, &err) > 0)
		n++;
	CHECK_INT(n, 50021);
	CHECK_STR(err.text, "");
}

TEST(a_new_capture_is_readable_by_its_owner_only)
{
	const char *path = scratch("private");
	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(path);
	struct stat st;

	CHECK(stat(path, &st) == 0);
	CHECK_INT(st.st_mode & 0777, 0600);
}

static void replace_without_stdin(void)
{
	_cleanup_(freep) char *path = must_strdup(scratch("any"));

	close(STDIN_FILENO);
	for (int i = 0; i < 3; i++) { /* a new file, and one that is replaced */
		struct capture_writer *w = build_capture(path);
		int fd = capture_fd(w);
		struct stat st;

		CHECK(fd >= 0 && fcntl(fd, F_GETFD) & FD_CLOEXEC);
		CHECK(fstat(fd, &st) == 0 && st.st_size == (off_t)capture_size(w));
		build_add(w, REC(RUN, run, 200, 17, .start = 100));
		build_close(w);
		capture_writer_free(w);
		CHECK_INT(fcntl(fd, F_GETFD), -1);
	}
}

TEST(freeing_the_writer_closes_the_file)
{
	scratch("");
	CHECK_INT(in_child(replace_without_stdin), 0);
}

enum { NOBODY = 65534 };

/* The file is writable, its directory is not. */
static void overwrite_in_place(void)
{
	_cleanup_(freep) char *path = must_strdup(scratch("locked/x"));
	struct stat before, after;

	CHECK_INT(stat(path, &before), 0);
	CHECK(setresuid(NOBODY, NOBODY, NOBODY) == 0 || geteuid() != 0);

	_cleanup_(capture_writer_freep) struct capture_writer *w = build_capture(path);

	build_close(w);
	CHECK(stat(path, &after) == 0 && after.st_ino == before.st_ino);
	CHECK_INT(after.st_size, capture_size(w));
}

TEST(an_output_in_a_read_only_directory_is_truncated)
{
	static unsigned char old[100000];
	_cleanup_(freep) char *dir = must_strdup(scratch("locked"));

	CHECK_INT(mkdir(dir, 0755), 0);
	bytes_write(&(struct bytes){ old, sizeof(old) }, scratch("locked/x"));
	if (geteuid() == 0)
		CHECK_INT(chown(scratch("locked/x"), NOBODY, NOBODY), 0);
	CHECK_INT(chmod(scratch(""), 0711), 0);
	CHECK_INT(chmod(dir, 0555), 0);
	CHECK_INT(in_child(overwrite_in_place), 0);
	CHECK_INT(chmod(dir, 0755), 0);
	CHECK_INT(unlink(scratch("locked/x")), 0);
}
