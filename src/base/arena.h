/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena - memory that is freed all at once.
 *
 * Everything a model owns comes from one arena, so nothing in it is ever freed
 * on its own and no pointer into it outlives it.  Memory is zeroed.  Running
 * out of memory ends the program: no caller checks for NULL.
 */
#ifndef SONDE_BASE_ARENA_H
#define SONDE_BASE_ARENA_H

#include "base/base.h"

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *arena);
DEFINE_FREEP(arena)

void *arena_alloc(struct arena *arena, size_t size);

#define arena_new_of(arena, type) ((type *)arena_alloc(arena, sizeof(type)))

#endif
