/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map - from a 64-bit key to a 64-bit value, or to a pointer.
 *
 *	struct map map = { 0 };
 *	*map_insert(&map, tid) += 1;
 *	uint64_t *seen = map_find(&map, tid);
 *	map_done(&map);
 *
 * Any key will do, also one that others choose to do harm (base/hash.h).  Keys and
 * values lie side by side in one array, so a look-up mostly touches one cache line.
 * A pointer to a value holds until the next insert or remove.
 */
#ifndef SONDE_BASE_MAP_H
#define SONDE_BASE_MAP_H

#include "base/base.h"

struct map_slot {
	uint64_t key, value;
};

/* All zero is an empty map. */
struct map {
	struct map_slot *slots; /* key 0 is a free slot; */
	struct map_slot zero;   /* so what key 0 stands for is kept apart */
	bool has_zero;
	size_t room;  /* slots, 0 or a power of two */
	size_t count; /* keys, all of them */
};

void map_done(struct map *map);

/* The value of a key; NULL if it has none. */
uint64_t *map_find(const struct map *map, uint64_t key);

/* The value of a key, which is put in with 0 if it is not there yet. */
uint64_t *map_insert(struct map *map, uint64_t key);

/* Whether it was there. */
bool map_remove(struct map *map, uint64_t key);

/*
 * The keys in an order that differs from run to run, so no output may depend on it; *pos is 0 at
 * first and the caller's to keep.  False after the last one.  The map must not change meanwhile.
 */
bool map_next(const struct map *map, size_t *pos, uint64_t *ret_key, uint64_t *ret_value);

/* For a map whose values are pointers, borrowed: NULL if the key is not there. */
static inline void *map_find_ptr(const struct map *map, uint64_t key)
{
	const uint64_t *value = map_find(map, key);

	return value ? (void *)(uintptr_t)*value : NULL;
}

static inline void map_insert_ptr(struct map *map, uint64_t key, void *ptr)
{
	*map_insert(map, key) = (uintptr_t)ptr;
}

#endif
