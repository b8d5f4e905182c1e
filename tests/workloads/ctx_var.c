/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctx_var - the thread-local variable of a thread context (OTEP 4947).
 *
 * Built many times: into executables, and into libraries with each TLS model.
 * CTX_ROOM additional bytes make a library too large for glibc's surplus of static
 * TLS.  With CTX_OWN the library refers to its variable without symbol lookup, so
 * that no other variable can preempt it.
 */
#include "ctx.h"

#define VISIBLE __attribute__((visibility("default")))

#ifdef CTX_ROOM
VISIBLE __thread char ctx_room[CTX_ROOM] = { 1 }; /* initialised, so that it is placed first */
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
