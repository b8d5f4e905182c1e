/* SPDX-License-Identifier: Apache-2.0 */
#include "model/line.h"

#include <string.h>

enum { FIRST_ROOM = 4, LAST_ROOM = 2048 };

void line_init(struct line *line, size_t item_size)
{
	*line = (struct line){ .item_size = item_size };
}

void line_done(struct line *line)
{
	for (uint32_t i = 0; i < line->chunk_count; i++)
		free(line->chunks[i].items);
	free(line->chunks);
	*line = (struct line){ .item_size = line->item_size };
}

static struct line_chunk *add_chunk(struct line *line)
{
	uint32_t room = FIRST_ROOM;

	if (line->chunk_count) {
		room = line->chunks[line->chunk_count - 1].room;
		room = room < LAST_ROOM ? 2 * room : LAST_ROOM;
	}
	if (line->chunk_count == line->chunk_room) {
		line->chunk_room = line->chunk_room ? 2 * line->chunk_room : 4;
		line->chunks = must_realloc(line->chunks, line->chunk_room * sizeof(*line->chunks));
	}

	struct line_chunk *chunk = &line->chunks[line->chunk_count++];

	*chunk = (struct line_chunk){
		.items = must_realloc(NULL, (size_t)room * line->item_size),
		.room = room,
	};
	return chunk;
}

static void *item_at(const struct line *line, const struct line_chunk *chunk, uint32_t i)
{
	return (char *)chunk->items + (size_t)i * line->item_size;
}

static nsec_t time_at(const struct line *line, const struct line_chunk *chunk, uint32_t i)
{
	return *(const nsec_t *)item_at(line, chunk, i);
}

void *line_push(struct line *line)
{
	struct line_chunk *chunk = line->chunk_count ? &line->chunks[line->chunk_count - 1] : NULL;

	if (!chunk || chunk->count == chunk->room)
		chunk = add_chunk(line);
	return item_at(line, chunk, chunk->count++);
}

void *line_last(const struct line *line)
{
	if (!line->chunk_count)
		return NULL;

	const struct line_chunk *chunk = &line->chunks[line->chunk_count - 1];

	return item_at(line, chunk, chunk->count - 1);
}

bool line_find(const struct line *line, nsec_t t, line_pos *ret)
{
	uint32_t low = 0, high = line->chunk_count;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (time_at(line, &line->chunks[mid], 0) <= t)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0)
		return false;

	const struct line_chunk *chunk = &line->chunks[low - 1];
	uint32_t from = 0, to = chunk->count;

	while (from < to) {
		uint32_t mid = (from + to) / 2;

		if (time_at(line, chunk, mid) <= t)
			from = mid + 1;
		else
			to = mid;
	}
	*ret = (line_pos){ low - 1, from - 1 };
	return true;
}

bool line_from(const struct line *line, nsec_t t, line_pos *ret)
{
	if (!line)
		return false;
	return t && line_find(line, t - 1, ret) ? line_next(line, ret) : line_first(line, ret);
}

void *line_at(const struct line *line, line_pos pos)
{
	return item_at(line, &line->chunks[pos.chunk], pos.item);
}

bool line_first(const struct line *line, line_pos *ret)
{
	*ret = (line_pos){ 0, 0 };
	return line->chunk_count > 0;
}

bool line_prev(const struct line *line, line_pos *pos)
{
	if (pos->item > 0) {
		pos->item--;
		return true;
	}
	if (pos->chunk == 0)
		return false;
	pos->chunk--;
	pos->item = line->chunks[pos->chunk].count - 1;
	return true;
}

bool line_next(const struct line *line, line_pos *pos)
{
	if (pos->item + 1 < line->chunks[pos->chunk].count) {
		pos->item++;
		return true;
	}
	if (pos->chunk + 1 >= line->chunk_count)
		return false;
	pos->chunk++;
	pos->item = 0;
	return true;
}

void line_cut(struct line *line, line_pos from)
{
	uint32_t left = from.item ? from.chunk + 1 : from.chunk;

	while (line->chunk_count > left)
		free(line->chunks[--line->chunk_count].items);
	if (from.item)
		line->chunks[from.chunk].count = from.item;
}

void line_forget(struct line *line, nsec_t t)
{
	uint32_t gone = 0;

	while (gone + 1 < line->chunk_count && time_at(line, &line->chunks[gone + 1], 0) <= t)
		free(line->chunks[gone++].items);
	if (!gone)
		return;
	line->chunk_count -= gone;
	memmove(line->chunks, line->chunks + gone, line->chunk_count * sizeof(*line->chunks));
}

size_t line_count(const struct line *line)
{
	size_t count = 0;

	for (uint32_t i = 0; i < line->chunk_count; i++)
		count += line->chunks[i].count;
	return count;
}

size_t line_memory(const struct line *line)
{
	size_t bytes = line->chunk_room * sizeof(*line->chunks);

	for (uint32_t i = 0; i < line->chunk_count; i++)
		bytes += (size_t)line->chunks[i].room * line->item_size;
	return bytes;
}
