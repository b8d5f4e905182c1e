/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack - decompression with zlib or zstd of data with a known size.
 *
 * The file stores the size of the result, which can be damaged: unpack_admit() checks
 * that it is plausible before the caller allocates memory.
 */
#ifndef SONDE_READ_FILE_UNPACK_H
#define SONDE_READ_FILE_UNPACK_H

#include "base/err.h"
#include "base/view.h"

/*
 * The maximum number of bytes that a compressed file of this size may expand to: 256
 * times its size, or 64 MiB if that is more, but at most half of the memory.
 */
uint64_t unpack_limit(uint64_t packed_size);

/* The bytes that a packed file may still unpack to. */
struct unpack_budget {
	const char *path; /* of the file, for messages; borrowed */
	uint64_t left, limit;
};

/* 0, or -EFBIG if size exceeds what is left. */
int unpack_budget_take(struct unpack_budget *budget, size_t size, struct err *err);

/* Writes unpacked bytes of path to a descriptor. */
int unpack_write(const char *path, int fd, const char *data, size_t size, struct err *err);

struct unpack;

/*
 * For the compressed parts of a file of this size.  NULL if the method is unknown or not
 * built in; the message contains the path.
 */
struct unpack *unpack_new(const char *method, const char *path, uint64_t file_size,
			  struct err *err);
void unpack_free(struct unpack *unpack);
DEFINE_FREEP(unpack)

/*
 * Whether packed can unpack to size bytes, and the sum of all admitted sizes stays within
 * unpack_limit().
 */
bool unpack_admit(struct unpack *unpack, struct view packed, size_t size);

/* The limit in bytes if unpack_admit() returned false because of it; otherwise 0. */
uint64_t unpack_exceeded(const struct unpack *unpack);

/* Unpacks to ret; false unless the result has exactly this size. */
bool unpack_run(struct unpack *unpack, struct view packed, char *ret, size_t size);

#endif
