/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip - compressed bodies of export requests.
 *
 * A few bytes can decompress to a thousand times as many, so the size of the result is limited
 * while it grows, not checked afterwards.
 */
#ifndef SONDE_RELAY_GZIP_H
#define SONDE_RELAY_GZIP_H

#include "base/err.h"
#include "otlp/protobuf.h"

/*
 * Decompresses one or several gzip members.  Returns 0, -EMSGSIZE if the result has more than
 * `limit` bytes, or -EBADMSG if the input is damaged or incomplete.  The capacity of the result,
 * which the caller frees with pb_buffer_done(), is at most `limit`.
 */
int gzip_inflate(struct view packed, size_t limit, struct pb_buffer *ret, struct err *err);

/* Compresses one body after another with the same memory, which is a quarter of a megabyte. */
struct gzip_packer;

struct gzip_packer *gzip_packer_new(void);
void gzip_packer_free(struct gzip_packer *p);
DEFINE_FREEP(gzip_packer)

/* Appends a gzip member to a buffer: quickly (level 1), as a body must not occupy a loop for long.
 */
void gzip_pack(struct gzip_packer *p, struct view plain, struct pb_buffer *out);

#endif
