/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/unfinished_spans.h"

#include <string.h>

#include "base/hash.h"

void unfinished_spans_done(struct unfinished_spans *spans)
{
	map_done(&spans->index);
	map_done(&spans->counts);
	vec_done(&spans->places);
	vec_done(&spans->free);
}

static uint64_t hash_of(uint64_t owner, const uint8_t trace[16], const uint8_t id[8])
{
	uint8_t key[32];

	memcpy(key, &owner, 8);
	memcpy(key + 8, trace, 16);
	memcpy(key + 24, id, 8);
	return hash_bytes(key, sizeof(key));
}

static bool has_room(const struct unfinished_spans *spans, uint64_t owner)
{
	const uint64_t *count = map_find(&spans->counts, owner);
	size_t left = UNFINISHED_SPANS_MAX - spans->index.count, own = count ? *count : 0;

	return own < UNFINISHED_SPANS_PER_OWNER && own <= left;
}

enum unfinished_spans_result unfinished_spans_add(struct unfinished_spans *spans, uint64_t owner,
						  const struct record_span *span)
{
	uint64_t hash = hash_of(owner, span->trace, span->span);
	const uint64_t *known = map_find(&spans->index, hash);
	uint32_t place;

	if (known) {
		place = *known;
	} else if (!has_room(spans, owner)) {
		return UNFINISHED_SPANS_FULL;
	} else if (spans->free.count) {
		place = spans->free.items[--spans->free.count];
	} else {
		place = spans->places.count;
		vec_push(&spans->places);
	}

	bool is_known = known;

	if (!is_known)
		++*map_insert(&spans->counts, owner);
	spans->places.items[place] = (struct unfinished_span){ hash, owner, *span };
	*map_insert(&spans->index, hash) = place;
	return is_known ? UNFINISHED_SPANS_REPLACED : UNFINISHED_SPANS_ADDED;
}

static void take_out(struct unfinished_spans *spans, uint32_t place, struct record_span *ret)
{
	struct unfinished_span *open = &spans->places.items[place];

	*ret = open->span;
	map_remove(&spans->index, open->hash);
	if (--*map_insert(&spans->counts, open->owner) == 0)
		map_remove(&spans->counts, open->owner);
	open->span.head.words = 0;
	*vec_push(&spans->free) = place;
}

bool unfinished_spans_take(struct unfinished_spans *spans, uint64_t owner, const uint8_t trace[16],
			   const uint8_t id[8], struct record_span *ret)
{
	const uint64_t *place = map_find(&spans->index, hash_of(owner, trace, id));
	const struct record_span *span = place ? &spans->places.items[*place].span : NULL;

	if (!span || memcmp(span->trace, trace, 16) != 0 || memcmp(span->span, id, 8) != 0)
		return false;
	take_out(spans, *place, ret);
	return true;
}

bool unfinished_spans_take_next(struct unfinished_spans *spans, size_t *pos,
				bool (*is_meant)(void *arg, const struct record_span *span),
				void *arg, struct record_span *ret)
{
	for (; *pos < spans->places.count; ++*pos) {
		const struct record_span *span = &spans->places.items[*pos].span;

		if (span->head.words && is_meant(arg, span)) {
			take_out(spans, *pos, ret);
			return true;
		}
	}
	return false;
}
