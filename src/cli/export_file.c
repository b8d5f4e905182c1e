/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/export.h"

/* Write a temporary file and rename it, so that `path` never holds part of an export. */
static int replace_file(const char *path, export_writer *write, void *arg, struct err *err)
{
	_cleanup_(freep) char *temporary = NULL;
	int r = file_check_output(path, err); /* fail before the work, which can take long */
	int fd = r < 0 ? r : file_create_temporary(path, &temporary, err);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		return fd < 0 ? fd : err_errno(err, "cannot open '%s'", temporary);
	r = write(arg, file, err);
	if (fclose(file) != 0 && r >= 0)
		r = err_errno(err, "cannot write '%s'", temporary);
	/* of a damaged input, keep what was read before the damage */
	if (r == 0 || r == -EBADMSG) {
		struct err failure;
		int placed = file_replace(temporary, path, &failure);

		if (placed < 0) {
			*err = failure;
			r = placed;
		}
	}
	if (r < 0 && r != -EBADMSG)
		unlink(temporary);
	return r;
}

int export_to_file(const char *path, export_writer *write, void *arg, struct err *err)
{
	int fd;

	if (!path || strcmp(path, "-") == 0)
		return write(arg, stdout, err);

	int r = file_open_special(path, &fd, err);

	if (r <= 0)
		return r < 0 ? r : replace_file(path, write, arg, err);

	FILE *file = fdopen(fd, "w");

	if (!file)
		return err_errno(err, "cannot open '%s'", path);
	r = write(arg, file, err);
	return fclose(file) != 0 && r == 0 ? err_errno(err, "cannot write '%s'", path) : r;
}
