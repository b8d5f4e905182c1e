/* SPDX-License-Identifier: Apache-2.0 */
/* percent - percent-encoding, of headers in the environment and of gRPC's messages. */
#ifndef SONDE_RELAY_PERCENT_H
#define SONDE_RELAY_PERCENT_H

#include "base/view.h"

/* Decodes in to out, which has room for in.len bytes.  A '%' without two digits stays.  Returns the
 * length. */
size_t percent_decode(struct view in, char *out);

/*
 * Encodes a text as gRPC demands: printable ASCII except '%' as it is, all else as %XX.  The result
 * is cut to `room` bytes with its NUL.
 */
void percent_encode(const char *text, char *out, size_t room);

#endif
