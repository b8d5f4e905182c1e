/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena - memory that is freed all at once.
 *
 * A model allocates everything from one arena and frees the arena as a whole.
 * Memory is zeroed.  Running out of memory aborts the program, so callers do
 * not check for NULL.
 */
#ifndef SONDE_BASE_ARENA_H
#define SONDE_BASE_ARENA_H

#include "base/base.h"

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *arena);
DEFINE_FREEP(arena)

void *arena_alloc(struct arena *arena, size_t size);

size_t arena_memory(const struct arena *arena); /* bytes */

#define arena_new_of(arena, type) ((type *)arena_alloc(arena, sizeof(type)))

#endif
