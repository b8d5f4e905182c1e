/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_set - the files of a trace, in memory.
 *
 * The files of a directory are mapped; those of an archive are unpacked (packed.h).
 */
#ifndef SONDE_READ_FILE_FILE_SET_H
#define SONDE_READ_FILE_FILE_SET_H

#include "base/err.h"
#include "base/vec.h"

struct trace_file {
	char *name; /* path, or path of the archive and path in it */
	uint8_t *data;
	size_t size;
	bool is_mapped; /* otherwise allocated */
};

struct file_set {
	VEC(struct trace_file) items;
};

void file_set_done(struct file_set *set);

/* Maps all files of a directory, without those in subdirectories. */
int file_set_map(struct file_set *set, const char *path, struct err *err);

/* Sorts by name. */
void file_set_sort(struct file_set *set);

#endif
