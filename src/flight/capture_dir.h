/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_dir - the directory of the captures, and the process that creates files in it.
 *
 * The flight recorder parses what the recorded processes produce, so it gives up the identity of
 * its user and can create no files of that user.  A small process keeps the identity of the
 * directory's owner, without capabilities, and does three things in this one directory: create a
 * hidden partial file, give it its final name, remove it.  It accepts only names as capture_name.h
 * makes them, and replaces no file.  So a capture has its name only if it is complete.
 *
 * The process ends when the flight recorder does, for whatever reason, and then removes what is
 * left: a partial file, and the socket of snap.h.
 *
 * The directory must belong to the user, or the user who called sudo, and must not be writable by
 * everybody: in such a directory, other users could exchange the files.
 */
#ifndef SONDE_FLIGHT_CAPTURE_DIR_H
#define SONDE_FLIGHT_CAPTURE_DIR_H

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

struct capture_dir;

/* Create the directory if it is missing, and start the process.  Call it before privileges drop. */
int capture_dir_open(const char *path, struct capture_dir **ret, struct err *err);

/* End the process. */
void capture_dir_free(struct capture_dir *dir);
DEFINE_FREEP(capture_dir)

const char *capture_dir_path(const struct capture_dir *dir); /* absolute */

/* These wait for the process, so for the disk; a single thread can use them at a time. */

/* Create a partial file.  Returns the descriptor. */
int capture_dir_create(struct capture_dir *dir, const char *name, struct err *err);
/* Give the partial file its name; -EEXIST if there is such a file. */
int capture_dir_commit(struct capture_dir *dir, const char *name, struct err *err);
void capture_dir_remove(struct capture_dir *dir, const char *name);

/* The name of the socket of the flight recorder with this process id. */
#define CAPTURE_DIR_SOCKET ".sonde-snap-"

#endif
