/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/mapping.h"
#include "base/caps.h"

int file_map(const char *path, struct view *ret, struct err *err)
{
	/* O_NONBLOCK: opening a pipe must not wait for its other end */
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, "cannot open '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "cannot open '%s': not a regular file", path);
	if (st.st_size == 0) {
		*ret = (struct view){ "", 0 };
		return 0;
	}

	void *data = mapping_new(fd, st.st_size, PROT_READ, MAP_PRIVATE, path);

	if (!data)
		return err_errno(err, "cannot map '%s'", path);
	*ret = (struct view){ data, st.st_size };
	return 0;
}

void file_unmap(struct view *view)
{
	if (view->len)
		mapping_free((void *)view->s, view->len);
	*view = (struct view){ 0 };
}

/* `st` is the result of lstat(): the file is checked without opening it. */
static int check_replaceable(const char *path, const struct stat *st, struct err *err)
{
	if (S_ISLNK(st->st_mode))
		return err_set(err, -ELOOP,
			       "cannot write '%s': it is a symbolic link; name the file itself",
			       path);
	if (!S_ISREG(st->st_mode))
		return err_set(err, -EINVAL, "cannot write '%s': not a regular file", path);
	if (!caps_is_own_user(st->st_uid))
		return err_set(
			err, -EPERM,
			"cannot write '%s': it belongs to another user (uid %u); remove it or "
			"choose another name",
			path, st->st_uid);
	return 0;
}

int file_check_output(const char *path, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) == 0)
		return check_replaceable(path, &st, err);
	if (errno != ENOENT)
		return err_errno(err, "cannot write '%s'", path);

	_cleanup_(freep) char *copy = must_strdup(path);

	/* a new file: its directory must exist */
	return stat(dirname(copy), &st) < 0 ? err_errno(err, "cannot write '%s'", path) : 0;
}

static int create_new(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : caps_give_file(fd);
}

/* For directories without write permission: truncate the file, if it still is the checked one. */
static int truncate_existing(const char *path, const struct stat *checked)
{
	_cleanup_(closep) int fd =
		open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_dev != checked->st_dev || st.st_ino != checked->st_ino)
		return -EEXIST;
	if (ftruncate(fd, 0) < 0 || fchmod(fd, 0600) < 0)
		return -errno;
	return TAKE_FD(fd);
}

int file_create(const char *path, struct err *err)
{
	int fd = create_new(path);

	if (fd == -EEXIST) {
		struct stat st;

		if (lstat(path, &st) < 0)
			return err_errno(err, "cannot write '%s'", path);

		int r = check_replaceable(path, &st, err);

		if (r < 0)
			return r;
		fd = unlink(path) == 0 ? create_new(path) : truncate_existing(path, &st);
	}
	if (fd < 0)
		err_set(err, fd, "cannot write '%s': %s", path, strerror(-fd));
	return fd;
}

int file_append(const char *path, struct err *err)
{
	_cleanup_(closep) int fd = create_new(path);
	struct stat st;

	if (fd == -EEXIST)
		fd = open(path,
			  O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, "cannot write '%s'", path);

	int r = check_replaceable(path, &st, err);

	return r < 0 ? r : TAKE_FD(fd);
}

int file_create_temporary(const char *path, char **ret_temporary, struct err *err)
{
	_cleanup_(freep) char *temporary = must_printf("%s.partial-XXXXXX", path);
	int fd = mkostemp(temporary, O_CLOEXEC);

	if (fd < 0)
		return err_errno(err, "cannot create a temporary file next to '%s'", path);
	*ret_temporary = TAKE(temporary);
	return caps_give_file(fd);
}

int file_replace(const char *temporary, const char *path, struct err *err)
{
	int r = file_check_output(path, err);

	if (r == 0 && rename(temporary, path) < 0)
		r = err_errno(err, "cannot create '%s'", path);
	return r;
}

static bool is_descriptor_path(const char *path)
{
	static const char *const prefixes[] = { "/dev/fd/", "/proc/self/fd/" };

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (strncmp(path, prefixes[i], strlen(prefixes[i])) == 0)
			return !strchr(path + strlen(prefixes[i]), '/');
	return strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/stderr") == 0;
}

static bool is_special(const struct stat *st)
{
	return S_ISCHR(st->st_mode) || (S_ISFIFO(st->st_mode) && caps_is_own_user(st->st_uid));
}

int file_open_special(const char *path, int *ret_fd, struct err *err)
{
	int flags = O_WRONLY | O_NOCTTY | O_CLOEXEC;
	struct stat st;

	if (!is_descriptor_path(path)) {
		if (lstat(path, &st) < 0 || !is_special(&st))
			return 0;
		flags |= O_NOFOLLOW;
	}

	_cleanup_(closep) int fd = open(path, flags);

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(err, "cannot open '%s'", path);
	if (flags & O_NOFOLLOW && !is_special(&st))
		return err_set(err, -EEXIST,
			       "cannot write '%s': another process replaced it; try again", path);
	*ret_fd = TAKE_FD(fd);
	return 1;
}
