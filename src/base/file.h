/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file - map input files and create output files safely.
 *
 * An output path may lie in a directory that others can write to, such as /tmp, where another user
 * can plant a symbolic link, a pipe or a file under that name.  So an output is either a new file
 * or replaces a regular file of the same user, and symbolic links are not followed.  Outputs have
 * mode 0600, because traces reveal what other users ran.  Under sudo, a new file belongs to the
 * user who called sudo.
 */
#ifndef SONDE_BASE_FILE_H
#define SONDE_BASE_FILE_H

#include "base/err.h"
#include "base/view.h"

/* Map a regular file for reading (base/mapping.h).  An empty file is an empty view. */
int file_map(const char *path, struct view *ret, struct err *err);
void file_unmap(struct view *view);

/*
 * Create a file of mode 0600 for writing, or replace an existing one; processes that have the old
 * file open keep its content.  Returns the descriptor.
 */
int file_create(const char *path, struct err *err);

/* Like file_create(), but append to an existing file. */
int file_append(const char *path, struct err *err);

/* Check whether file_create() can use this path, without creating anything. */
int file_check_output(const char *path, struct err *err);

/* Create a temporary file next to `path`, for file_replace().  Returns the descriptor. */
int file_create_temporary(const char *path, char **ret_temporary, struct err *err);

/* Rename a finished temporary file to `path`, under the same conditions as file_create(). */
int file_replace(const char *temporary, const char *path, struct err *err);

/*
 * Open an output that is not a regular file: a character device, a pipe of the same user, or a
 * descriptor (/dev/stdout, /dev/fd/N).  Returns 1, or 0 if the path is none of these.
 */
int file_open_special(const char *path, int *ret_fd, struct err *err);

#endif
