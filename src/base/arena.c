/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdlib.h>

enum { BLOCK_SIZE = 64 * 1024, ALIGN = 16 };

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	_Alignas(ALIGN) char data[];
};

struct arena {
	struct arena_block *top;
};

struct arena *arena_new(void)
{
	return must_alloc(sizeof(struct arena));
}

void arena_free(struct arena *arena)
{
	if (!arena)
		return;
	for (struct arena_block *next, *b = arena->top; b; b = next) {
		next = b->next;
		free(b);
	}
	free(arena);
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_block *b = arena->top;

	size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!b || b->size - b->used < size) {
		size_t want = size > BLOCK_SIZE ? size : BLOCK_SIZE;

		b = must_alloc(sizeof(*b) + want);
		b->size = want;
		b->next = arena->top;
		arena->top = b;
	}
	void *p = b->data + b->used;
	b->used += size;
	return p;
}

size_t arena_memory(const struct arena *arena)
{
	size_t bytes = sizeof(*arena);

	for (const struct arena_block *b = arena->top; b; b = b->next)
		bytes += sizeof(*b) + b->size;
	return bytes;
}
