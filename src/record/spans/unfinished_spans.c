/* SPDX-License-Identifier: Apache-2.0 */
#include "record/spans/unfinished_spans.h"

#include <string.h>

#include "base/hash.h"

void unfinished_spans_done(struct unfinished_spans *spans)
{
	map_done(&spans->index);
	map_done(&spans->counts);
	vec_done(&spans->spans);
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
	uint32_t index;

	if (known) {
		index = *known;
	} else if (!has_room(spans, owner)) {
		return UNFINISHED_SPANS_FULL;
	} else if (spans->free.count) {
		index = spans->free.items[--spans->free.count];
	} else {
		index = spans->spans.count;
		vec_push(&spans->spans);
	}

	bool is_known = known;

	if (!is_known)
		++*map_insert(&spans->counts, owner);
	spans->spans.items[index] = (struct unfinished_span){ hash, owner, *span };
	*map_insert(&spans->index, hash) = index;
	return is_known ? UNFINISHED_SPANS_REPLACED : UNFINISHED_SPANS_ADDED;
}

static void take_out(struct unfinished_spans *spans, uint32_t index, struct record_span *ret)
{
	struct unfinished_span *entry = &spans->spans.items[index];

	*ret = entry->span;
	map_remove(&spans->index, entry->hash);
	if (--*map_insert(&spans->counts, entry->owner) == 0)
		map_remove(&spans->counts, entry->owner);
	entry->span.head.words = 0;
	*vec_push(&spans->free) = index;
}

bool unfinished_spans_take(struct unfinished_spans *spans, uint64_t owner, const uint8_t trace[16],
			   const uint8_t id[8], struct record_span *ret)
{
	const uint64_t *index = map_find(&spans->index, hash_of(owner, trace, id));
	const struct record_span *span = index ? &spans->spans.items[*index].span : NULL;

	if (!span || memcmp(span->trace, trace, 16) != 0 || memcmp(span->span, id, 8) != 0)
		return false;
	take_out(spans, *index, ret);
	return true;
}

bool unfinished_spans_take_next(struct unfinished_spans *spans, size_t *pos,
				bool (*matches)(void *arg, const struct record_span *span),
				void *arg, struct record_span *ret)
{
	for (; *pos < spans->spans.count; ++*pos) {
		const struct record_span *span = &spans->spans.items[*pos].span;

		if (span->head.words && matches(arg, span)) {
			take_out(spans, *pos, ret);
			return true;
		}
	}
	return false;
}
