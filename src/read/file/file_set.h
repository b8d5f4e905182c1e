/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_set - the files of a directory or an archive, in memory.
 *
 * A trace may be many files.  Those of a directory are mapped; those of an
 * archive are unpacked (archive.h).  To who reads them they are the same.
 */
#ifndef SONDE_READ_FILE_FILE_SET_H
#define SONDE_READ_FILE_FILE_SET_H

#include "base/err.h"
#include "base/vec.h"

struct trace_file {
	char *name; /* with its directories */
	uint8_t *data;
	size_t size;
	bool is_mapped; /* else the data is allocated */
};

struct file_set {
	VEC(struct trace_file) items;
};

void file_set_done(struct file_set *set);

/* Maps all files that are in a directory, but not those further below. */
int file_set_map(struct file_set *set, const char *path, struct err *err);

/* Sorts by name. */
void file_set_sort(struct file_set *set);

#endif
