/* SPDX-License-Identifier: Apache-2.0 */
#include "model/timeline.h"

#include <string.h>

#include "base/search.h"

enum { FIRST_ROOM = 4, LAST_ROOM = 2048 };

void timeline_init(struct timeline *timeline, size_t item_size)
{
	*timeline = (struct timeline){ .item_size = item_size };
}

void timeline_done(struct timeline *timeline)
{
	for (uint32_t i = 0; i < timeline->chunk_count; i++)
		free(timeline->chunks[i].items);
	free(timeline->chunks);
	*timeline = (struct timeline){ .item_size = timeline->item_size };
}

/* Twice as large as the last one; in a short window, as large as what the window holds. */
static uint32_t next_room(const struct timeline *timeline)
{
	const struct timeline_chunk *last = &timeline->chunks[timeline->chunk_count - 1];
	uint32_t held = last->count - timeline->forgotten;

	if (timeline->chunk_count == 1 && timeline->forgotten)
		return held > FIRST_ROOM ? held : FIRST_ROOM;
	return last->room < LAST_ROOM / 2 ? 2 * last->room : LAST_ROOM;
}

static struct timeline_chunk *add_chunk(struct timeline *timeline)
{
	uint32_t room = timeline->chunk_count ? next_room(timeline) : FIRST_ROOM;

	if (timeline->chunk_count == timeline->chunk_room) {
		timeline->chunk_room = timeline->chunk_room ? 2 * timeline->chunk_room : 1;
		timeline->chunks = must_realloc(timeline->chunks,
						timeline->chunk_room * sizeof(*timeline->chunks));
	}

	struct timeline_chunk *chunk = &timeline->chunks[timeline->chunk_count++];

	*chunk = (struct timeline_chunk){
		.items = must_realloc(NULL, (size_t)room * timeline->item_size),
		.room = room,
	};
	return chunk;
}

static void *item_at(const struct timeline *timeline, const struct timeline_chunk *chunk,
		     uint32_t i)
{
	return (char *)chunk->items + (size_t)i * timeline->item_size;
}

static nsec_t time_at(const struct timeline *timeline, const struct timeline_chunk *chunk,
		      uint32_t i)
{
	return *(const nsec_t *)item_at(timeline, chunk, i);
}

void *timeline_push(struct timeline *timeline)
{
	struct timeline_chunk *chunk =
		timeline->chunk_count ? &timeline->chunks[timeline->chunk_count - 1] : NULL;

	if (!chunk || chunk->count == chunk->room)
		chunk = add_chunk(timeline);
	return item_at(timeline, chunk, chunk->count++);
}

void *timeline_last(const struct timeline *timeline)
{
	if (!timeline->chunk_count)
		return NULL;

	const struct timeline_chunk *chunk = &timeline->chunks[timeline->chunk_count - 1];

	return item_at(timeline, chunk, chunk->count - 1);
}

bool timeline_find(const struct timeline *timeline, nsec_t t, timeline_pos *ret)
{
	size_t chunks = partition_point(timeline->chunk_count, i,
					time_at(timeline, &timeline->chunks[i],
						i ? 0 : timeline->forgotten) <= t);

	if (chunks == 0)
		return false;

	const struct timeline_chunk *chunk = &timeline->chunks[chunks - 1];
	uint32_t first = chunks == 1 ? timeline->forgotten : 0;
	size_t items =
		partition_point(chunk->count - first, i, time_at(timeline, chunk, first + i) <= t);

	*ret = (timeline_pos){ chunks - 1, first + items - 1 };
	return true;
}

bool timeline_from(const struct timeline *timeline, nsec_t t, timeline_pos *ret)
{
	if (!timeline)
		return false;
	return t && timeline_find(timeline, t - 1, ret) ? timeline_next(timeline, ret)
							: timeline_first(timeline, ret);
}

void *timeline_at(const struct timeline *timeline, timeline_pos pos)
{
	return item_at(timeline, &timeline->chunks[pos.chunk], pos.item);
}

bool timeline_first(const struct timeline *timeline, timeline_pos *ret)
{
	*ret = (timeline_pos){ 0, timeline->forgotten };
	return timeline->chunk_count > 0;
}

bool timeline_prev(const struct timeline *timeline, timeline_pos *pos)
{
	if (pos->item > (pos->chunk ? 0 : timeline->forgotten)) {
		pos->item--;
		return true;
	}
	if (pos->chunk == 0)
		return false;
	pos->chunk--;
	pos->item = timeline->chunks[pos->chunk].count - 1;
	return true;
}

bool timeline_next(const struct timeline *timeline, timeline_pos *pos)
{
	if (pos->item + 1 < timeline->chunks[pos->chunk].count) {
		pos->item++;
		return true;
	}
	if (pos->chunk + 1 >= timeline->chunk_count)
		return false;
	pos->chunk++;
	pos->item = 0;
	return true;
}

void timeline_cut(struct timeline *timeline, timeline_pos from)
{
	uint32_t first = from.chunk ? 0 : timeline->forgotten;
	uint32_t left = from.item > first ? from.chunk + 1 : from.chunk;

	while (timeline->chunk_count > left)
		free(timeline->chunks[--timeline->chunk_count].items);
	if (from.item > first)
		timeline->chunks[from.chunk].count = from.item;
	if (!timeline->chunk_count)
		timeline->forgotten = 0;
}

/* Drops the items before a position. */
static void forget_to(struct timeline *timeline, timeline_pos pos)
{
	for (uint32_t i = 0; i < pos.chunk; i++)
		free(timeline->chunks[i].items);
	timeline->chunk_count -= pos.chunk;
	timeline->forgotten = pos.item;
	if (!pos.chunk)
		return;
	memmove(timeline->chunks, timeline->chunks + pos.chunk,
		timeline->chunk_count * sizeof(*timeline->chunks));
	if (timeline->chunk_room > 16 && timeline->chunk_count < timeline->chunk_room / 4) {
		timeline->chunk_room /= 2;
		timeline->chunks = must_realloc(timeline->chunks,
						timeline->chunk_room * sizeof(*timeline->chunks));
	}
}

void timeline_forget(struct timeline *timeline, nsec_t t)
{
	timeline_pos pos;

	if (timeline_find(timeline, t, &pos))
		forget_to(timeline, pos);
}

void timeline_forget_before(struct timeline *timeline, nsec_t t)
{
	timeline_pos pos;

	if (timeline_from(timeline, t, &pos))
		forget_to(timeline, pos);
	else
		timeline_done(timeline);
}

void timeline_forget_first(struct timeline *timeline)
{
	timeline_pos pos;

	timeline_first(timeline, &pos);
	if (timeline_next(timeline, &pos))
		forget_to(timeline, pos);
	else
		timeline_done(timeline);
}

size_t timeline_count(const struct timeline *timeline)
{
	size_t count = 0;

	for (uint32_t i = 0; i < timeline->chunk_count; i++)
		count += timeline->chunks[i].count;
	return count - timeline->forgotten;
}

size_t timeline_memory(const struct timeline *timeline)
{
	size_t bytes = timeline->chunk_room * sizeof(*timeline->chunks);

	for (uint32_t i = 0; i < timeline->chunk_count; i++)
		bytes += (size_t)timeline->chunks[i].room * timeline->item_size;
	return bytes;
}
