/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes - a capture as the bytes it is, to be cut, bent and sealed again.
 */
#ifndef SONDE_TESTS_BYTES_H
#define SONDE_TESTS_BYTES_H

#include "base/base.h"

struct bytes {
	unsigned char *data;
	size_t size;
};

struct bytes bytes_read(const char *path);
struct bytes bytes_copy(const struct bytes *from, size_t size); /* zeros behind its end */
void bytes_write(const struct bytes *bytes, const char *path);
void bytes_done(struct bytes *bytes);

/* The offset of the n-th block, or the size of the file if there are fewer. */
size_t bytes_block(const struct bytes *bytes, unsigned n);

/* Makes all checksums right again as far as blocks can be found, so that what is behind them shows.
 */
void bytes_seal(struct bytes *bytes);

#endif
