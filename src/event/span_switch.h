/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_switch - switch spans of sonde.h off and on, by their names.
 *
 * The process does it, or somebody with privileges from outside: both by writing
 * into the arena, where each name has a word that its program looks at.  For names
 * that come later there are rules, of which the last that matches decides.
 *
 * Nobody is waited for.  Two who switch at the same moment both get their rule,
 * in one order or the other.  When there is no more room for rules, names that
 * are there are still switched.
 */
#ifndef SONDE_EVENT_SPAN_SWITCH_H
#define SONDE_EVENT_SPAN_SWITCH_H

#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>

#include "event/span_wire.h"

enum span_slot { SPAN_SLOT_FREE = 0, SPAN_SLOT_FILLING = 1, SPAN_SLOT_USED = 2 };

/* Whether the caller may fill it. */
static inline bool span_slot_claim(__u32 *used)
{
	__u32 is_free = SPAN_SLOT_FREE;

	return __atomic_compare_exchange_n(used, &is_free, SPAN_SLOT_FILLING, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void span_slot_fill(__u32 *used)
{
	__atomic_store_n(used, SPAN_SLOT_USED, __ATOMIC_RELEASE);
}

static inline bool span_slot_is_used(const __u32 *used)
{
	return __atomic_load_n(used, __ATOMIC_ACQUIRE) == SPAN_SLOT_USED;
}

/* A copy that ends in any case; the arena's may not. */
static inline void span_name_copy(char to[SPAN_NAME_MAX], const char *from)
{
	size_t size = strnlen(from, SPAN_NAME_MAX - 1);

	memcpy(to, from, size);
	to[size] = '\0';
}

static inline bool span_name_matches(const char *pattern, const char *name)
{
	char copies[2][SPAN_NAME_MAX];

	span_name_copy(copies[0], pattern);
	span_name_copy(copies[1], name);
	return fnmatch(copies[0], copies[1], 0) == 0;
}

/* Whether the rules switch a name off. */
static inline bool span_rules_switch_off(const struct span_arena *arena, const char *name)
{
	bool off = false;

	for (int i = 0; i < SPAN_RULES; i++) {
		const struct span_rule *rule = &arena->rules[i];

		if (span_slot_is_used(&rule->used) && span_name_matches(rule->pattern, name))
			off = __atomic_load_n(&rule->off, __ATOMIC_RELAXED);
	}
	return off;
}

/* A rule behind all others, or the one of that pattern changed if none is behind it. */
static inline void span_rule_add(struct span_arena *arena, const char *pattern, bool off)
{
	struct span_rule *same = NULL;

	for (int i = 0; i < SPAN_RULES; i++) {
		struct span_rule *rule = &arena->rules[i];

		if (span_slot_is_used(&rule->used)) {
			bool is_same = !strncmp(rule->pattern, pattern, SPAN_NAME_MAX - 1);
			same = is_same ? rule : NULL;
		} else if (!same && span_slot_claim(&rule->used)) {
			span_name_copy(rule->pattern, pattern);
			rule->off = off;
			span_slot_fill(&rule->used);
			return;
		}
	}
	if (same)
		__atomic_store_n(&same->off, off, __ATOMIC_RELAXED);
}

/* Returns how many names that are there it concerns. */
static inline int span_switch(struct span_arena *arena, const char *pattern, bool off)
{
	int count = 0;

	span_rule_add(arena, pattern, off);
	for (int i = 0; i < SPAN_NAMES; i++) {
		struct span_name *name = &arena->names[i];

		if (span_slot_is_used(&name->used) && span_name_matches(pattern, name->name)) {
			__atomic_store_n(&name->off, off, __ATOMIC_RELAXED);
			count++;
		}
	}
	return count;
}

#endif
