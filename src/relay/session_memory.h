/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_memory - memory that nghttp2 allocates for a connection, counted by the intake.
 *
 * A client can let nghttp2 hold up to 64 KiB for a header field that it never completes, and more
 * for queued frames.  A connection has SESSION_MEMORY bytes of its own, which suffice without
 * requests; the intake counts what exceeds them.  If the intake is full, the allocation fails, and
 * with it the connection.
 */
#ifndef SONDE_RELAY_SESSION_MEMORY_H
#define SONDE_RELAY_SESSION_MEMORY_H

#include <nghttp2/nghttp2.h>

#include "relay/receive.h"

enum { SESSION_MEMORY = 32 << 10 };

struct session_memory {
	struct intake *intake; /* borrowed */
	size_t used;           /* bytes */
};

/* For nghttp2; the memory is borrowed. */
nghttp2_mem session_memory_allocator(struct session_memory *memory);

#endif
