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

/* Compresses quickly (level 1) into a new buffer, which the caller frees with pb_buffer_done(). */
void gzip_deflate(struct view plain, struct pb_buffer *ret);

#endif
