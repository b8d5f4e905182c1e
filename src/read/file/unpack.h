/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack - data that was compressed in one piece, by zlib or zstd.
 *
 * The size of the result is stored beside it in the file, and may be damaged:
 * before memory is taken, unpack_admit() checks whether that much can come out.
 */
#ifndef SONDE_READ_FILE_UNPACK_H
#define SONDE_READ_FILE_UNPACK_H

#include "base/err.h"
#include "base/view.h"

/*
 * The most that a file of so many bytes may unpack to: 256 times as much, or 64 MiB
 * if that is more, but no more than half of the machine's memory.
 */
uint64_t unpack_limit(uint64_t packed_size);

struct unpack;

/*
 * By the name of the method, for the parts of a file of that size.  NULL, and a sentence with the
 * path, if it is not known or not built in.
 */
struct unpack *unpack_new(const char *method, const char *path, uint64_t file_size,
			  struct err *err);
void unpack_free(struct unpack *unpack);
DEFINE_FREEP(unpack)

/*
 * Whether size bytes can come out of it, and no more than unpack_limit() with all
 * that were admitted before; they are counted then.
 */
bool unpack_admit(struct unpack *unpack, struct view packed, size_t size);

/* The limit, in bytes, if something was not admitted for it; otherwise 0. */
uint64_t unpack_exceeded(const struct unpack *unpack);

/* Whether just size bytes came out, into ret. */
bool unpack_run(struct unpack *unpack, struct view packed, char *ret, size_t size);

#endif
