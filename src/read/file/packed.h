/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed - inputs in an archive (tar, zip), or compressed (gzip, xz, zstd, ...).
 *
 * An archive may hold CTF traces, whose files are unpacked into memory, or one
 * file of any other format; so may a compressed file.  A few bytes can be made
 * to unpack without end, so work is limited at each step: there is at most one
 * layer of compression and one archive below it, each may produce at most
 * unpack_limit() bytes, used or not, and an archive may hold so many files.
 *
 * libarchive would choose filters by itself, layer upon layer, and start
 * programs for some of them.  So packed.c chooses the filter by the magic
 * number, and only filters that run in this process are used.
 */
#ifndef SONDE_READ_FILE_PACKED_H
#define SONDE_READ_FILE_PACKED_H

#include "read/input_internal.h"

/* By its first bytes. */
bool packed_matches(const char *head, size_t size);

/* As input_open(). */
int packed_open(const char *path, const char *format, struct input **ret, struct err *err);

/* What follows is shared by packed.c and packed_archive.c. */

enum packed_kind {
	PACKED_UNKNOWN, /* recognised, but not supported */
	PACKED_GZIP,
	PACKED_ZSTD,
	PACKED_XZ,
	PACKED_BZIP2,
	PACKED_LZ4,
	PACKED_ARCHIVE, /* not compressed as a whole */
};

/* Opens an archive, or a file that is compressed in this way. */
int packed_open_archive(const char *path, enum packed_kind kind, const char *format,
			struct input **ret, struct err *err);

/* Opens the unpacked content of path, in fd; messages name path. */
int packed_open_content(const char *path, int fd, const char *format, struct input **ret,
			struct err *err);

#endif
