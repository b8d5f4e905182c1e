/* SPDX-License-Identifier: Apache-2.0 */
#include "read/text/types.h"

#include <string.h>

#include "base/hash.h"

enum { TYPES_MAX = 1 << 15 }; /* a probe event has 16 bits for the number of its type */

static const char overflow_name[] = "(too many event types)";

/* Names are compared by 64 bits of their hash. */
static uint64_t hash_of(struct text_type_name name)
{
	return hash_bytes(name.word.s, name.word.len) ^ hash_number(name.line_kind);
}

struct text_type *text_types_find(struct text_types *types, struct text_type_name name)
{
	const uint64_t *number = map_find(&types->index, hash_of(name));

	if (number)
		return types->list.items[*number - 1];
	return types->list.count > TYPES_MAX ? types->list.items[TYPES_MAX] : NULL;
}

struct text_type *text_types_add(struct text_types *types, struct text_type_name name,
				 const char *event_name, bool has_layout,
				 const char *const *patterns)
{
	struct text_type *type = must_alloc(sizeof(*type));
	bool overflow = types->list.count == TYPES_MAX;

	type->name = must_strdup(overflow ? overflow_name : event_name);
	type->number = types->list.count;
	type->nr = SYSCALL_NONE;
	if (has_layout && !overflow)
		type->layout =
			raw_layout_find(RAW_KERNEL, event_name, strlen(event_name), &type->nr);
	type->kind = type->layout ? type->layout->kind : RAW_OTHER;
	for (; type->layout && patterns && *patterns; patterns++) {
		type->patterns = must_realloc(type->patterns,
					      (type->pattern_count + 1) * sizeof(*type->patterns));
		text_pattern_init(&type->patterns[type->pattern_count++], *patterns, type->layout);
	}
	*vec_push(&types->list) = type;
	if (!overflow)
		*map_insert(&types->index, hash_of(name)) = type->number + 1;
	return type;
}

const char *text_types_name(const struct text_types *types, uint32_t number)
{
	return number < types->list.count ? types->list.items[number]->name : "";
}

void text_types_done(struct text_types *types)
{
	for (size_t i = 0; i < types->list.count; i++) {
		free(types->list.items[i]->patterns);
		free(types->list.items[i]->name);
		free(types->list.items[i]);
	}
	vec_done(&types->list);
	map_done(&types->index);
}
