/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unpack - data that was compressed in one piece, by zlib or zstd.
 *
 * How much comes out stands beside it in the file, and may be damaged: before
 * memory is taken, unpack_can_be() says whether that much can come out at all.
 */
#ifndef SONDE_READ_UNPACK_H
#define SONDE_READ_UNPACK_H

#include "base/err.h"
#include "base/view.h"

struct unpack;

/*
 * By the name of the method.  NULL, and a sentence with the path, if it is not
 * known or not built in.
 */
struct unpack *unpack_new(const char *method, const char *path, struct err *err);
void unpack_free(struct unpack *unpack);
DEFINE_FREEP(unpack)

bool unpack_can_be(const struct unpack *unpack, struct view packed, size_t size);

/* Whether just size bytes came out, into ret. */
bool unpack_run(struct unpack *unpack, struct view packed, char *ret, size_t size);

#endif
