/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed - inputs in an archive (tar, zip), or compressed (gzip, xz, zstd, ...).
 *
 * An archive may hold CTF traces, whose files are unpacked into memory, or one
 * file of any other format; so may a compressed file.  What comes out may be at
 * most RATIO times as large as what goes in, or ROOM bytes if that is more: a
 * few bytes can be made to unpack to no end.
 */
#ifndef SONDE_READ_PACKED_H
#define SONDE_READ_PACKED_H

#include "read/input_parts.h"

enum { PACKED_RATIO = 256, PACKED_ROOM = 64 << 20 };

/* By its first bytes. */
bool packed_is_one(const char *head, size_t size);

/* As input_open(). */
int packed_open(const char *path, const char *format, struct input **ret, struct err *err);

#endif
