/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool - traces from a pipe, such as stdin.
 *
 * A trace can be read more than once, for example to align clocks before its records are merged.
 * So all bytes of a pipe are first saved to a temporary file without a name, which replaces the
 * descriptor of the pipe.  From then on, the descriptor is a regular file.
 */
#ifndef SONDE_READ_FILE_SPOOL_H
#define SONDE_READ_FILE_SPOOL_H

#include "base/err.h"

/* The descriptor that a path names: "-", /dev/stdin, /dev/fd/N, /proc/self/fd/N; otherwise -1. */
int spool_descriptor(const char *path);

/* Save what the descriptor contains, unless it is a regular file.  The path is for messages. */
int spool_save(int fd, const char *path, struct err *err);

#endif
