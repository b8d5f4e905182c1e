/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strtab.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

/*
 * The texts are in an arena and never move.  A hash table with open addressing
 * maps texts to ids; it doubles before it is more than half full, so adding is
 * O(1) on average.  Each string stores its hash: a lookup compares texts only if
 * the hashes are equal, and growing the table does not hash again.
 */
struct str {
	const char *text;
	size_t len;
	uint64_t hash;
};

struct strtab {
	struct arena *arena;
	VEC(struct str) strs; /* by id */
	VEC(uint32_t) unused; /* ids of removed strings, smallest last */
	uint32_t *slots;      /* ids; 0 marks a free slot, as the empty string is never in one */
	size_t room;          /* number of slots, a power of two */
};

enum { FIRST_ROOM = 64 };

struct strtab *strtab_new(void)
{
	struct strtab *tab = must_alloc(sizeof(*tab));

	tab->arena = arena_new();
	tab->room = FIRST_ROOM;
	tab->slots = must_alloc(tab->room * sizeof(*tab->slots));
	*vec_push(&tab->strs) = (struct str){ .text = "" };
	return tab;
}

void strtab_free(struct strtab *tab)
{
	if (!tab)
		return;
	arena_free(tab->arena);
	vec_done(&tab->strs);
	vec_done(&tab->unused);
	free(tab->slots);
	free(tab);
}

/* The slot of this text, or the free slot to insert it. */
static uint32_t *find_slot(const struct strtab *tab, const char *s, size_t len, uint64_t hash)
{
	for (size_t i = hash & (tab->room - 1);; i = (i + 1) & (tab->room - 1)) {
		const struct str *str = &tab->strs.items[tab->slots[i]];

		if (!tab->slots[i])
			return &tab->slots[i];
		if (str->hash == hash && str->len == len && memcmp(str->text, s, len) == 0)
			return &tab->slots[i];
	}
}

static void resize(struct strtab *tab, size_t room)
{
	free(tab->slots);
	tab->room = room;
	tab->slots = must_alloc(tab->room * sizeof(*tab->slots));
	for (uint32_t id = 1; id < tab->strs.count; id++) {
		const struct str *str = &tab->strs.items[id];

		if (str->len)
			*find_slot(tab, str->text, str->len, str->hash) = id;
	}
}

/* An id for a new string: that of a removed one, or the next. */
static uint32_t take_id(struct strtab *tab)
{
	if (tab->unused.count)
		return tab->unused.items[--tab->unused.count];
	assert(tab->strs.count < UINT32_MAX);
	vec_push(&tab->strs);
	return tab->strs.count - 1;
}

str_id strtab_add_n(struct strtab *tab, const char *s, size_t len)
{
	len = strnlen(s, len);
	if (len == 0)
		return (str_id){ 0 };

	uint64_t hash = hash_bytes(s, len);
	uint32_t *slot = find_slot(tab, s, len, hash);

	if (*slot)
		return (str_id){ *slot };

	char *copy = arena_alloc(tab->arena, len + 1);
	uint32_t id = take_id(tab);

	memcpy(copy, s, len);
	tab->strs.items[id] = (struct str){ copy, len, hash };
	*slot = id;
	if (2 * tab->strs.count > tab->room)
		resize(tab, 2 * tab->room);
	return (str_id){ id };
}

str_id strtab_add(struct strtab *tab, const char *s)
{
	return strtab_add_n(tab, s, strlen(s));
}

str_id strtab_find(const struct strtab *tab, const char *s)
{
	size_t len = strlen(s);

	return (str_id){ len ? *find_slot(tab, s, len, hash_bytes(s, len)) : 0 };
}

const char *strtab_get(const struct strtab *tab, str_id id)
{
	return id.i < tab->strs.count ? tab->strs.items[id.i].text : "";
}

uint32_t strtab_count(const struct strtab *tab)
{
	return tab->strs.count;
}

/* Copies the used texts into a new arena, and empties the other strings. */
static void move_texts(struct strtab *tab, const bool *used)
{
	struct arena *arena = arena_new();

	for (uint32_t id = 1; id < tab->strs.count; id++) {
		struct str *str = &tab->strs.items[id];

		if (!used[id] || !str->len) {
			*str = (struct str){ .text = "" };
			continue;
		}
		str->text = memcpy(arena_alloc(arena, str->len + 1), str->text, str->len);
	}
	arena_free(tab->arena);
	tab->arena = arena;
}

void strtab_sweep(struct strtab *tab, const bool *used)
{
	size_t room = tab->room;

	move_texts(tab, used);
	while (tab->strs.count > 1 && !tab->strs.items[tab->strs.count - 1].len)
		tab->strs.count--;
	vec_shrink(&tab->strs);
	tab->unused.count = 0;
	for (uint32_t id = tab->strs.count; id-- > 1;)
		if (!tab->strs.items[id].len)
			*vec_push(&tab->unused) = id;
	vec_shrink(&tab->unused);
	while (room > FIRST_ROOM && 8 * tab->strs.count < room)
		room /= 2;
	resize(tab, room);
}

size_t strtab_memory(const struct strtab *tab)
{
	return sizeof(*tab) + arena_memory(tab->arena) + tab->strs.room * sizeof(struct str) +
	       tab->unused.room * sizeof(uint32_t) + tab->room * sizeof(*tab->slots);
}
