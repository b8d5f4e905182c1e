/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map - hash map from a 64-bit key to a 64-bit value or a pointer.
 *
 *	struct map map = { 0 };
 *	*map_insert(&map, tid) += 1;
 *	uint64_t *seen = map_find(&map, tid);
 *	map_done(&map);
 *
 * Safe with untrusted keys (base/hash.h).  Each key is next to its value in one
 * array, so most lookups touch one cache line.  A pointer to a value is valid until
 * the next insert or remove.
 */
#ifndef SONDE_BASE_MAP_H
#define SONDE_BASE_MAP_H

#include "base/base.h"

struct map_slot {
	uint64_t key, value;
};

/* All zero is an empty map. */
struct map {
	struct map_slot *slots; /* key 0 marks a free slot */
	struct map_slot zero;   /* entry of key 0 */
	bool has_zero;
	size_t room;  /* number of slots: 0 or a power of two */
	size_t count; /* number of keys, including key 0 */
};

void map_done(struct map *map);

/* The value of a key; NULL if the key is missing. */
uint64_t *map_find(const struct map *map, uint64_t key);

/* The value of a key; a missing key is inserted with the value 0. */
uint64_t *map_insert(struct map *map, uint64_t key);

/* Returns whether the map contained the key. */
bool map_remove(struct map *map, uint64_t key);

/*
 * Iterate over the entries, in an order that differs from run to run; no output may depend on it.
 * Start with *pos = 0.  Returns false after the last entry.  The map must not change meanwhile.
 */
bool map_next(const struct map *map, size_t *pos, uint64_t *ret_key, uint64_t *ret_value);

/* Whether an entry stays; the function may change the value. */
typedef bool map_keep_fn(void *arg, uint64_t key, uint64_t *value);

/* Removes the entries that do not stay, and gives back memory.  Linear in the size of the map. */
void map_sweep(struct map *map, map_keep_fn *keep, void *arg);

/* Gives back memory if few slots are used. */
void map_shrink(struct map *map);

/* For maps with borrowed pointers as values: NULL if the key is missing. */
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
