/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include "base/hash.h"

/*
 * Open addressing with linear probing, at most half full: a key is in its home
 * slot or in a later one, with no free slot between.  Removing moves later keys
 * back into the gap.  So there are no tombstones, and a map in which keys come
 * and go for days stays as fast as a new one.
 */
enum { FIRST_ROOM = 16 };

void map_done(struct map *map)
{
	free(map->slots);
	*map = (struct map){ 0 };
}

/* The first slot to try for a key. */
static size_t home(const struct map *map, uint64_t key)
{
	return hash_number(key) & (map->room - 1);
}

/* The slot of a key other than 0, or the free one where it belongs. */
static struct map_slot *find_slot(const struct map *map, uint64_t key)
{
	size_t i = home(map, key);

	while (map->slots[i].key && map->slots[i].key != key)
		i = (i + 1) & (map->room - 1);
	return &map->slots[i];
}

uint64_t *map_find(const struct map *map, uint64_t key)
{
	if (key == 0)
		return map->has_zero ? (uint64_t *)&map->zero.value : NULL;
	if (!map->room)
		return NULL;

	struct map_slot *slot = find_slot(map, key);

	return slot->key ? &slot->value : NULL;
}

static void grow(struct map *map)
{
	struct map_slot *old = map->slots;
	size_t n = map->room;

	map->room = n ? 2 * n : FIRST_ROOM;
	map->slots = must_alloc(map->room * sizeof(*map->slots));
	for (size_t i = 0; i < n; i++)
		if (old[i].key)
			*find_slot(map, old[i].key) = old[i];
	free(old);
}

static uint64_t *insert_zero(struct map *map)
{
	if (!map->has_zero) {
		map->has_zero = true;
		map->zero.value = 0;
		map->count++;
	}
	return &map->zero.value;
}

uint64_t *map_insert(struct map *map, uint64_t key)
{
	if (key == 0)
		return insert_zero(map);

	struct map_slot *slot = map->room ? find_slot(map, key) : NULL;

	if (slot && slot->key)
		return &slot->value;
	if (2 * ++map->count > map->room) {
		grow(map);
		slot = find_slot(map, key);
	}
	*slot = (struct map_slot){ .key = key };
	return &slot->value;
}

/* Free a slot, and move later keys of the run back into the gap if their home is not behind it. */
static void close_gap(struct map *map, size_t gap)
{
	size_t mask = map->room - 1;

	for (size_t i = (gap + 1) & mask; map->slots[i].key; i = (i + 1) & mask) {
		size_t from_home = (i - home(map, map->slots[i].key)) & mask;

		if (from_home >= ((i - gap) & mask)) {
			map->slots[gap] = map->slots[i];
			gap = i;
		}
	}
	map->slots[gap].key = 0;
}

bool map_remove(struct map *map, uint64_t key)
{
	struct map_slot *slot = key && map->room ? find_slot(map, key) : NULL;

	bool found = key ? slot && slot->key : map->has_zero;

	if (!found)
		return false;
	map->count--;
	if (slot)
		close_gap(map, slot - map->slots);
	else
		map->has_zero = false;
	return true;
}

/* Position 0 is the entry of key 0, position i + 1 is slot i. */
bool map_next(const struct map *map, size_t *pos, uint64_t *ret_key, uint64_t *ret_value)
{
	for (; *pos <= map->room; ++*pos) {
		const struct map_slot *slot = *pos ? &map->slots[*pos - 1] : &map->zero;

		if (*pos ? slot->key != 0 : map->has_zero) {
			*ret_key = slot->key;
			*ret_value = slot->value;
			++*pos;
			return true;
		}
	}
	return false;
}

void map_sweep(struct map *map, map_keep_fn *keep, void *arg)
{
	struct map old = *map;
	size_t kept = 0;

	*map = (struct map){ 0 };
	if (old.has_zero && keep(arg, 0, &old.zero.value))
		*insert_zero(map) = old.zero.value;
	for (size_t i = 0; i < old.room; i++) {
		struct map_slot *slot = &old.slots[i];

		if (slot->key && !keep(arg, slot->key, &slot->value))
			slot->key = 0;
		kept += slot->key != 0;
	}
	if (kept)
		for (map->room = FIRST_ROOM; map->room < 3 * kept; map->room *= 2)
			;
	map->slots = map->room ? must_alloc(map->room * sizeof(*map->slots)) : NULL;
	map->count += kept;
	for (size_t i = 0; i < old.room; i++)
		if (old.slots[i].key)
			*find_slot(map, old.slots[i].key) = old.slots[i];
	free(old.slots);
}

static bool keep_all(void *arg, uint64_t key, uint64_t *value)
{
	return true;
}

void map_shrink(struct map *map)
{
	if (map->room > 64 && map->count <= map->room / 16)
		map_sweep(map, keep_all, NULL);
}
