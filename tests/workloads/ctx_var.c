/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctx_var - the variable that a thread context is published by (OTEP 4947).
 *
 * Built many times: into executables, and into libraries with each model of
 * thread-local storage that there is.  CTX_ROOM bytes beside it make a library
 * too large for the room that glibc keeps for those that are loaded late.  With
 * CTX_OWN the library does not use its variable by name, so that nobody else's
 * can take its place.
 */
#include "ctx.h"

#define VISIBLE __attribute__((visibility("default")))

#ifdef CTX_ROOM
VISIBLE __thread char ctx_room[CTX_ROOM] = { 1 }; /* so that it comes first */
#endif

VISIBLE __thread const struct ctx_record *otel_thread_ctx_v1;

#ifdef CTX_OWN
extern __thread const struct ctx_record *own
	__attribute__((alias("otel_thread_ctx_v1"), visibility("hidden")));
#else
#define own otel_thread_ctx_v1
#endif

VISIBLE void ctx_set(const struct ctx_record *record)
{
	own = record;
}
