/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names form a hash table with linear probing.  Each call site looks up its name
 * once.  Two threads can add the same name at once and create two entries; that is
 * harmless, because both are switched together.
 */
#include "agent/names.h"

#include <stdlib.h>

#include "agent/internal.h"
#include "agent/sonde.h"
#include "event/span_switch.h"

static struct span_name always_on;

static uint32_t hash(const char *text)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < SPAN_NAME_MAX - 1 && text[i]; i++)
		h = (h ^ (uint8_t)text[i]) * 16777619u;
	return h;
}

struct span_name *names_find(const char *text)
{
	uint32_t first = hash(text);

	for (uint32_t i = 0; agent_arena && i < SPAN_NAMES; i++) {
		struct span_name *name = &agent_arena->names[(first + i) % SPAN_NAMES];

		if (span_slot_is_used(&name->used)) {
			if (!strncmp(name->name, text, SPAN_NAME_MAX - 1))
				return name;
		} else if (span_slot_claim(&name->used)) {
			span_name_copy(name->name, text);
			name->off = span_rules_switch_off(agent_arena, text);
			span_slot_fill(&name->used);
			return name;
		}
	}
	return &always_on;
}

void names_off_from_environment(struct span_arena *arena)
{
	const char *rest = getenv("SONDE_SPANS_DISABLED");
	char pattern[SPAN_NAME_MAX];

	while (rest && *rest) {
		size_t size = strcspn(rest, ",");

		if (size && size < sizeof(pattern)) {
			memcpy(pattern, rest, size);
			pattern[size] = '\0';
			span_rule_add(arena, pattern, true);
		}
		rest += size + (rest[size] == ',');
	}
}

void sonde_set_enabled(const char *pattern, bool enabled)
{
	struct agent_thread *t = &agent_thread;

	if (!agent_enter(t))
		return;
	if (agent_arena)
		span_switch(agent_arena, pattern, !enabled);
	agent_exit(t);
}
