/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file - files that are read whole, mapped (base/mapping.h) and not copied, and files that are
 * written.
 *
 * Outputs may be named in directories that others can write to, such as /tmp.  There, somebody may
 * have put a link, a pipe or a file of his own under the name.  So an output is a new file, or
 * takes the place of a regular file that is ours; links are not followed; and it is for its owner
 * alone, as it tells what others ran.  What root creates under sudo belongs to the user who called
 * it.
 */
#ifndef SONDE_BASE_FILE_H
#define SONDE_BASE_FILE_H

#include "base/err.h"
#include "base/view.h"

/* Anything but a regular file gets a sentence.  An empty one is an empty view. */
int file_map(const char *path, struct view *ret, struct err *err);
void file_unmap(struct view *view);

/*
 * A new file of mode 0600, for writing; one of ours that is there is replaced, and lives on for
 * those who have it open.  Returns the descriptor.
 */
int file_create(const char *path, struct err *err);

/* Likewise, but adds to one that is there. */
int file_append(const char *path, struct err *err);

/* Whether file_create() would take this name, as far as can be told without creating anything. */
int file_check_output(const char *path, struct err *err);

/* A new file beside a path, for file_replace() when it is whole.  Returns the descriptor. */
int file_create_temporary(const char *path, char **ret_temporary, struct err *err);

/* Rename what is whole to the path, or fail as file_create() does. */
int file_replace(const char *temporary, const char *path, struct err *err);

/*
 * For outputs that are just written to: a character device, a pipe of ours, or a descriptor by its
 * name (/dev/stdout, /dev/fd/N).  Returns 1, or 0 if the path is none of these.
 */
int file_open_special(const char *path, int *ret_fd, struct err *err);

#endif
