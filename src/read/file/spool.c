/* SPDX-License-Identifier: Apache-2.0 */
#include "read/file/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/base.h"
#include "read/file/unpack.h"

enum { COPY_SIZE = 256 * 1024 };

int spool_descriptor(const char *path)
{
	int fd, end = 0;

	if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdin") == 0)
		return STDIN_FILENO;
	if ((sscanf(path, "/dev/fd/%5d%n", &fd, &end) == 1 ||
	     sscanf(path, "/proc/self/fd/%5d%n", &fd, &end) == 1) &&
	    end > 0 && !path[end])
		return fd;
	return -1;
}

/*
 * /var/tmp is on a disk, unlike /tmp on many hosts.  Without a file system for it, use memory:
 * *ret_limit is the number of bytes that may be saved there.
 */
static int create_temporary(uint64_t *ret_limit)
{
	const char *directories[] = { secure_getenv("TMPDIR"), "/var/tmp", "/tmp" };

	*ret_limit = UINT64_MAX;
	for (size_t i = 0; i < ARRAY_LEN(directories); i++) {
		int fd = directories[i] ? open(directories[i],
					       O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600)
					: -1;

		if (fd >= 0)
			return fd;
	}
	*ret_limit = unpack_limit(UINT64_MAX / 256);
	return memfd_create("sonde", MFD_CLOEXEC);
}

static int write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno != EINTR)
			return -errno;
		data += n > 0 ? n : 0;
		size -= n > 0 ? n : 0;
	}
	return 0;
}

static ssize_t read_some(int fd, char *buffer)
{
	ssize_t n;

	while ((n = read(fd, buffer, COPY_SIZE)) < 0 && (errno == EINTR || errno == EAGAIN))
		if (errno == EAGAIN)
			poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, -1);
	return n;
}

static int copy_all(int from, const char *path, int to, uint64_t limit, struct err *err)
{
	_cleanup_(freep) char *buffer = must_alloc(COPY_SIZE);
	uint64_t total = 0;
	ssize_t n;

	while ((n = read_some(from, buffer)) > 0) {
		total += n;
		if (total > limit)
			return err_set(err, -EFBIG,
				       "'%s' is too large to keep it in memory: set TMPDIR to a "
				       "directory on a disk",
				       path);
		int r = write_all(to, buffer, n);
		if (r < 0)
			return err_set(err, r,
				       "cannot save '%s' to a temporary file: %s; set TMPDIR to a "
				       "directory with more space",
				       path, strerror(-r));
	}
	return n < 0 ? err_errno(err, "cannot read '%s'", path) : 0;
}

int spool_save(int fd, const char *path, struct err *err)
{
	struct stat st;
	uint64_t limit;

	if (fstat(fd, &st) < 0)
		return err_errno(err, "cannot read '%s'", path);
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return 0;
	if (isatty(fd))
		return err_set(err, -EINVAL, "cannot read '%s': it is a terminal", path);

	_cleanup_(closep) int to = create_temporary(&limit);

	if (to < 0)
		return err_errno(err, "cannot save '%s' to a temporary file", path);

	int r = copy_all(fd, path, to, limit, err);

	if (r == 0 && dup3(to, fd, O_CLOEXEC) < 0)
		r = err_errno(err, "cannot save '%s' to a temporary file", path);
	return r;
}
