/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_switch - switch the spans of sonde.h off and on by name.
 *
 * The process itself can do it, or a privileged process from outside.  Both write into
 * the arena, where each name has a flag that its call sites check.  Rules apply to names
 * that are added later; the last matching rule decides.
 *
 * No operation waits.  Two concurrent calls both add their rule, in either order.  When
 * all rules are in use, existing names are still switched.
 */
#ifndef SONDE_EVENT_SPAN_SWITCH_H
#define SONDE_EVENT_SPAN_SWITCH_H

#include <fnmatch.h>
#include <stdbool.h>
#include <string.h>

#include "event/span_wire.h"

/* True if the caller got the slot and has to fill it. */
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

/* Copy a name that may lack its final NUL. */
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

/* Append a rule, or change the last rule if it has the same pattern. */
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

/* Returns the number of existing names that match. */
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
