/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/session_memory.h"

#include <malloc.h>

/* The part that the intake counts. */
static size_t excess(size_t used)
{
	return used > SESSION_MEMORY ? used - SESSION_MEMORY : 0;
}

static void release(void *ptr, void *arg)
{
	struct session_memory *memory = arg;
	size_t before = excess(memory->used);

	memory->used -= malloc_usable_size(ptr);
	intake_give_back(memory->intake, before - excess(memory->used));
	free(ptr);
}

static void *allocate(size_t size, void *arg)
{
	struct session_memory *memory = arg;
	void *ptr = must_realloc(NULL, size);
	size_t used = memory->used + malloc_usable_size(ptr);

	if (!intake_take(memory->intake, excess(used) - excess(memory->used))) {
		free(ptr);
		return NULL;
	}
	memory->used = used;
	return ptr;
}

static void *allocate_zeroed(size_t count, size_t size, void *arg)
{
	void *ptr = allocate(count * size, arg); /* sizes of nghttp2's own types */

	return ptr ? memset(ptr, 0, count * size) : NULL;
}

static void *reallocate(void *ptr, size_t size, void *arg)
{
	size_t old = malloc_usable_size(ptr);
	void *moved = allocate(size, arg);

	if (moved && ptr) {
		memcpy(moved, ptr, old < size ? old : size);
		release(ptr, arg);
	}
	return moved;
}

nghttp2_mem session_memory_allocator(struct session_memory *memory)
{
	return (nghttp2_mem){ memory, allocate, release, allocate_zeroed, reallocate };
}
