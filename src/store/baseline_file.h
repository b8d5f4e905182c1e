/* SPDX-License-Identifier: Apache-2.0 */
/*
 * baseline_file - baselines as SQLite files; sonde-baseline(5) documents the format.
 *
 * The samples and counts of a baseline are stored, and everything that a reader of the file may
 * want to look up: profiles, patterns and bands.  Loading reads the samples and counts only and
 * computes the rest again, so that learning can go on where it stopped.
 *
 * A file is built in memory and written at once, to a temporary file that replaces the old one
 * at the end: a killed process or a full disk leaves the old file.  Equal baselines have equal
 * content, row by row.
 *
 * A file may come from anybody.  It is mapped and given to SQLite as read-only memory, so that no
 * journal or lock file beside it matters.  Only the tables of this format are accepted, with their
 * exact definitions: no view, trigger, index or virtual table, and so no code.  Rows must have
 * strictly ascending keys and be no larger in sum than the file, so that damaged pages that
 * refer to each other in circles end in an error.
 */
#ifndef SONDE_STORE_BASELINE_FILE_H
#define SONDE_STORE_BASELINE_FILE_H

#include "base/err.h"
#include "base/view.h"
#include "diagnose/profile.h"

/* The baseline must be finished, and the profiles must be its own. */
int baseline_save(const struct baseline *baseline, const struct profiles *profiles,
		  const char *path, struct err *err);

/* The result is finished: profiles can be built, and more recordings be added. */
int baseline_load(const char *path, struct baseline **ret, struct err *err);

/* The same from memory; `name` is for messages. */
int baseline_load_bytes(struct view bytes, const char *name, struct baseline **ret,
			struct err *err);

/* Whether a file is a baseline of any version, by its first bytes. */
bool baseline_is_file(const char *path);

#endif
