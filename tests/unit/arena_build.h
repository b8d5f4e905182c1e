/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena_build - build an arena like an agent does, and write events into it.
 *
 *	struct arena_build b = arena_build_make();
 *	struct span_ring *ring = arena_build_take(&b, 3, pid, tid);
 *	arena_build_end(ring, 200, &(struct arena_span){ .span = 7, .start = 100, .name = "x" });
 *	arena_build_done(&b);
 */
#ifndef SONDE_TESTS_ARENA_BUILD_H
#define SONDE_TESTS_ARENA_BUILD_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "event/event.h"
#include "event/span_wire.h"

struct arena_build {
	int fd;
	struct span_arena *arena;
};

struct arena_span {
	uint8_t trace, span, parent; /* the first byte of each id */
	uint8_t kind, flags;
	uint64_t start;
	uint32_t tid;
	const char *name;
	const void *attributes;
	size_t attributes_size;
};

static inline struct arena_build arena_build_sealed(int seals)
{
	struct arena_build b = { memfd_create(SPAN_ARENA_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING),
				 NULL };
	void *map = MAP_FAILED;

	if (b.fd >= 0 && ftruncate(b.fd, sizeof(*b.arena)) == 0 &&
	    fcntl(b.fd, F_ADD_SEALS, seals) == 0)
		map = mmap(NULL, sizeof(*b.arena), PROT_READ | PROT_WRITE, MAP_SHARED, b.fd, 0);
	if (map == MAP_FAILED)
		abort();
	b.arena = map;
	memcpy(b.arena->magic, SPAN_ARENA_MAGIC, sizeof(b.arena->magic));
	b.arena->version = SPAN_ARENA_VERSION;
	return b;
}

static inline struct arena_build arena_build_make(void)
{
	return arena_build_sealed(F_SEAL_SHRINK | F_SEAL_GROW);
}

static inline void arena_build_done(struct arena_build *b)
{
	munmap(b->arena, sizeof(*b->arena));
	close(b->fd);
}

static inline struct span_ring *arena_build_take(struct arena_build *b, size_t i, uint32_t pid,
						 uint32_t tid)
{
	struct span_ring *ring = &b->arena->rings[i];

	ring->pid = pid;
	ring->tid = tid;
	ring->state = SPAN_RING_TAKEN;
	b->arena->taken[i / 64] |= 1ull << (i % 64);
	return ring;
}

/* Write any bytes, as an event or not; dropped if there is no space. */
static inline void arena_build_put(struct span_ring *ring, const void *bytes, size_t size)
{
	if (ring->head + size - ring->tail > SPAN_RING_SIZE) {
		ring->lost_last = ring->lost_first = ((const struct span_event *)bytes)->time;
		ring->lost++;
		return;
	}
	memcpy(ring->data + ring->head % SPAN_RING_SIZE, bytes, size);
	ring->head += size;
}

static inline size_t arena_build_round(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static inline void arena_build_begin(struct span_ring *ring, uint64_t time,
				     const struct arena_span *s)
{
	_Alignas(8) char room[SPAN_EVENT_MAX] = { 0 };
	struct span_event_begin *e = (void *)room;

	e->name_size = strlen(s->name);
	e->head = (struct span_event){ .time = time,
				       .size = arena_build_round(sizeof(*e) + e->name_size),
				       .kind = SPAN_EVENT_BEGIN,
				       .number = ++ring->event_count };
	e->trace[0] = s->trace;
	e->span[0] = s->span;
	e->parent[0] = s->parent;
	e->kind = s->kind;
	memcpy(e->name, s->name, e->name_size);
	arena_build_put(ring, e, e->head.size);
}

static inline void arena_build_end(struct span_ring *ring, uint64_t time,
				   const struct arena_span *s)
{
	_Alignas(8) char room[SPAN_EVENT_MAX] = { 0 };
	struct span_event_end *e = (void *)room;

	e->name_size = s->name ? strlen(s->name) : 0;
	e->attributes_size = s->attributes_size;
	e->head = (struct span_event){ .time = time,
				       .size = arena_build_round(sizeof(*e) + e->name_size +
								 e->attributes_size),
				       .kind = SPAN_EVENT_END,
				       .flags = s->flags,
				       .number = ++ring->event_count };
	e->trace[0] = s->trace;
	e->span[0] = s->span;
	e->parent[0] = s->parent;
	e->start = s->start;
	e->tid = s->tid;
	e->kind = s->kind;
	if (e->name_size)
		memcpy(e->text, s->name, e->name_size);
	if (e->attributes_size)
		memcpy(e->text + e->name_size, s->attributes, e->attributes_size);
	arena_build_put(ring, e, e->head.size);
}

static inline void arena_build_context(struct span_ring *ring, uint64_t time, uint8_t trace,
				       uint8_t span, uint8_t flags)
{
	struct span_event_context e = { .head = { .time = time,
						  .size = sizeof(e),
						  .kind = SPAN_EVENT_CONTEXT,
						  .flags = flags,
						  .number = ++ring->event_count } };

	e.trace[0] = trace;
	e.span[0] = span;
	arena_build_put(ring, &e, sizeof(e));
}

#endif
