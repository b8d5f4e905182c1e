/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed - inputs in an archive (tar, zip) or compressed (gzip, xz, zstd, ...).
 *
 * An archive contains CTF traces, which are unpacked into memory, or one file of any
 * other format; the same holds for a compressed file.  A small file can unpack to an
 * unlimited amount of data, so each step is limited: at most one layer of compression
 * around one archive, at most unpack_limit() bytes from each of the two, and a
 * maximum number of files in an archive.
 *
 * By default, libarchive chooses any number of filters by itself and runs external
 * programs for some of them.  packed.c therefore chooses the filter by the magic
 * number and uses only filters that run in this process.
 */
#ifndef SONDE_READ_FILE_PACKED_H
#define SONDE_READ_FILE_PACKED_H

#include "read/input_internal.h"

/* Whether these are the first bytes of a packed file. */
bool packed_matches(const char *head, size_t size);

/* As input_open(). */
int packed_open(const char *path, const char *format, struct input **ret, struct err *err);

/* Replaces the path of unpacked content by that of the input, in a message. */
void packed_rename(struct err *err, const char *content, const char *path);

/* Opens the unpacked content of path, in fd; messages contain path. */
int packed_open_content(const char *path, int fd, const char *format, struct input **ret,
			struct err *err);

/* The rest is private to packed.c and packed_archive.c. */

enum packed_kind {
	PACKED_UNSUPPORTED,
	PACKED_GZIP,
	PACKED_ZSTD,
	PACKED_XZ,
	PACKED_BZIP2,
	PACKED_LZ4,
	PACKED_ARCHIVE, /* not compressed, or per file */
};

/* Opens an archive or a compressed file of this kind. */
int packed_open_archive(const char *path, enum packed_kind kind, const char *format,
			struct input **ret, struct err *err);

#endif
