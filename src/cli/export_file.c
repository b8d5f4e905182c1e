/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "cli/export.h"

/* Whether a path is, or can be, a file that is replaced: no pipe and no device. */
static bool is_replaceable(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 || S_ISREG(st.st_mode);
}

mode_t export_mode(mode_t most)
{
	mode_t mask = umask(0);

	umask(mask);
	return most & ~mask;
}

/* Written under another name and then renamed, so that what is there is whole. */
static int replace_file(const char *path, export_writer *write, void *arg, struct err *err)
{
	_cleanup_(freep) char *temporary = must_printf("%s.partial-XXXXXX", path);
	int fd = mkostemp(temporary, O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		return err_errno(err, "cannot create a file beside '%s'", path);

	int r = write(arg, file, err);

	if (fclose(file) != 0 && r >= 0)
		r = err_errno(err, "cannot write '%s'", temporary);
	/* what stands before damage in an input is whole */
	if ((r == 0 || r == -EBADMSG) &&
	    (chmod(temporary, export_mode(0666)) < 0 || rename(temporary, path) < 0))
		r = err_errno(err, "cannot create '%s'", path);
	if (r < 0 && r != -EBADMSG)
		unlink(temporary);
	return r;
}

int export_to_file(const char *path, export_writer *write, void *arg, struct err *err)
{
	if (!path)
		return write(arg, stdout, err);
	if (is_replaceable(path))
		return replace_file(path, write, arg, err);

	FILE *file = fopen(path, "we");

	if (!file)
		return err_errno(err, "cannot open '%s'", path);

	int r = write(arg, file, err);

	return fclose(file) != 0 && r == 0 ? err_errno(err, "cannot write '%s'", path) : r;
}
