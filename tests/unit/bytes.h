/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes - the raw bytes of a capture, to truncate, modify and checksum again.
 */
#ifndef SONDE_TESTS_BYTES_H
#define SONDE_TESTS_BYTES_H

#include "base/base.h"

struct bytes {
	unsigned char *data;
	size_t size;
};

struct bytes bytes_read(const char *path);
struct bytes bytes_copy(const struct bytes *from, size_t size); /* zeros after its end */
void bytes_write(const struct bytes *bytes, const char *path);
void bytes_done(struct bytes *bytes);

/* The offset of the n-th block, or the size of the file if there are fewer. */
size_t bytes_block(const struct bytes *bytes, unsigned n);

/* Fix all checksums, as far as blocks can be found, so that tests reach the checks behind them. */
void bytes_seal(struct bytes *bytes);

#endif
