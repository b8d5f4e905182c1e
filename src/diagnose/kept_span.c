/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/kept_span.h"

#include <string.h>
#include <xxhash.h>

uint64_t position_key(uint64_t type, uint64_t position)
{
	uint64_t parts[2] = { type, position };

	return XXH3_64bits(parts, sizeof(parts));
}

static void *copy(struct arena *arena, const void *from, size_t size)
{
	void *to = arena_alloc(arena, size ?: 1);

	if (size)
		memcpy(to, from, size);
	return to;
}

void kept_span_move(struct kept_span *s, struct arena *arena)
{
	s->intervals = copy(arena, s->intervals, s->interval_count * sizeof(s->intervals[0]));
	s->runs = copy(arena, s->runs, s->run_count * sizeof(s->runs[0]));

	struct span_trait *traits = copy(arena, s->traits, s->trait_count * sizeof(*traits));

	for (uint32_t i = 0; i < s->trait_count; i++) {
		traits[i].key = copy(arena, traits[i].key, strlen(traits[i].key) + 1);
		if (traits[i].text)
			traits[i].text = copy(arena, traits[i].text, strlen(traits[i].text) + 1);
	}
	s->traits = traits;
}

struct kept_span kept_span_without_names(const struct observation *o)
{
	return (struct kept_span){
		.identity = o->identity,
		.keys = { [KEY_POSITION] = position_key(o->type, o->position),
			  [KEY_SUBTREE] = o->subtree,
			  [KEY_OPERATION] = o->name },
		.type = o->type,
		.position = o->position,
		.duration = o->duration,
		.queueing = o->queueing,
		.own = o->own,
		.cpu = o->cpu,
		.disk_bytes = o->disk_bytes,
		.network_bytes = o->network_bytes,
		.has_states = o->has_states,
		.interval_count = o->intervals.count,
		.run_count = o->runs.count,
		.intervals = o->intervals.items,
		.runs = o->runs.items,
		.trait_count = o->traits.count,
		.traits = o->traits.items,
	};
}

struct kept_span kept_span_of(const struct observation *o, const struct span_set *spans,
			      struct strtab *strings)
{
	struct kept_span span = kept_span_without_names(o);

	span.service = strtab_add(strings, span_set_string(spans, o->service));
	span.operation = strtab_add(strings, span_set_string(spans, o->operation));
	return span;
}
