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

static struct timeline_chunk *add_chunk(struct timeline *timeline)
{
	uint32_t room = FIRST_ROOM;

	if (timeline->chunk_count) {
		room = timeline->chunks[timeline->chunk_count - 1].room;
		room = room < LAST_ROOM ? 2 * room : LAST_ROOM;
	}
	if (timeline->chunk_count == timeline->chunk_room) {
		timeline->chunk_room = timeline->chunk_room ? 2 * timeline->chunk_room : 4;
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
					time_at(timeline, &timeline->chunks[i], 0) <= t);

	if (chunks == 0)
		return false;

	const struct timeline_chunk *chunk = &timeline->chunks[chunks - 1];
	size_t items = partition_point(chunk->count, i, time_at(timeline, chunk, i) <= t);

	*ret = (timeline_pos){ chunks - 1, items - 1 };
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
	*ret = (timeline_pos){ 0, 0 };
	return timeline->chunk_count > 0;
}

bool timeline_prev(const struct timeline *timeline, timeline_pos *pos)
{
	if (pos->item > 0) {
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
	uint32_t left = from.item ? from.chunk + 1 : from.chunk;

	while (timeline->chunk_count > left)
		free(timeline->chunks[--timeline->chunk_count].items);
	if (from.item)
		timeline->chunks[from.chunk].count = from.item;
}

void timeline_forget(struct timeline *timeline, nsec_t t)
{
	uint32_t dropped = 0;

	while (dropped + 1 < timeline->chunk_count &&
	       time_at(timeline, &timeline->chunks[dropped + 1], 0) <= t)
		free(timeline->chunks[dropped++].items);
	if (!dropped)
		return;
	timeline->chunk_count -= dropped;
	memmove(timeline->chunks, timeline->chunks + dropped,
		timeline->chunk_count * sizeof(*timeline->chunks));
}

size_t timeline_count(const struct timeline *timeline)
{
	size_t count = 0;

	for (uint32_t i = 0; i < timeline->chunk_count; i++)
		count += timeline->chunks[i].count;
	return count;
}

size_t timeline_memory(const struct timeline *timeline)
{
	size_t bytes = timeline->chunk_room * sizeof(*timeline->chunks);

	for (uint32_t i = 0; i < timeline->chunk_count; i++)
		bytes += (size_t)timeline->chunks[i].room * timeline->item_size;
	return bytes;
}
