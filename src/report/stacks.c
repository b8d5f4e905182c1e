/* SPDX-License-Identifier: Apache-2.0 */
#include "report/stacks.h"

#include <string.h>

#include "base/arena.h"
#include "base/map.h"

struct stacks {
	struct arena *arena;
	struct map frames; /* key of a frame: struct frame * */
	struct map used;   /* keys of stacks */
};

struct stacks *stacks_new(void)
{
	struct stacks *stacks = must_alloc(sizeof(*stacks));

	stacks->arena = arena_new();
	return stacks;
}

void stacks_free(struct stacks *stacks)
{
	if (!stacks)
		return;
	map_done(&stacks->frames);
	map_done(&stacks->used);
	arena_free(stacks->arena);
	free(stacks);
}

static uint64_t key_of(const struct source *source, uint32_t number)
{
	return (uint64_t)source->input << 32 | number;
}

static struct frame *frame_of(struct stacks *stacks, const struct source *source, uint32_t number)
{
	struct frame *frame = map_find_ptr(&stacks->frames, key_of(source, number));

	if (!frame) {
		frame = arena_new_of(stacks->arena, struct frame);
		map_insert_ptr(&stacks->frames, key_of(source, number), frame);
	}
	return frame;
}

/* Records hold only until the next one is read. */
static const void *keep(struct stacks *stacks, const struct record *record, size_t size)
{
	size_t there = record->words * 8;

	return memcpy(arena_alloc(stacks->arena, size), record, there < size ? there : size);
}

static void feed_symbol(struct stacks *stacks, const struct source *source,
			const struct record_symbol *record)
{
	struct symbol **at = &frame_of(stacks, source, record->frame)->symbol;

	while (*at && (*at)->record->depth < record->depth)
		at = &(*at)->caller;
	if (*at && (*at)->record->depth == record->depth)
		return;

	struct symbol *symbol = arena_new_of(stacks->arena, struct symbol);

	symbol->record = keep(stacks, &record->head, sizeof(*record));
	symbol->caller = *at;
	*at = symbol;
}

void stacks_feed(struct stacks *stacks, const struct source *source, const struct record *record)
{
	if (record->kind == RECORD_FRAME) {
		const struct record_frame *r = (const void *)record;
		frame_of(stacks, source, r->frame)->record = keep(stacks, record, sizeof(*r));
	} else if (record->kind == RECORD_SYMBOL) {
		feed_symbol(stacks, source, (const void *)record);
	}
}

void stacks_use(struct stacks *stacks, const struct source *source, uint32_t stack)
{
	*map_insert(&stacks->used, key_of(source, stack)) = 1;
}

bool stacks_used(const struct stacks *stacks, const struct source *source, uint32_t stack)
{
	return map_find(&stacks->used, key_of(source, stack));
}

struct frame stacks_frame(const struct stacks *stacks, const struct source *source, uint32_t number)
{
	const struct frame *frame = map_find_ptr(&stacks->frames, key_of(source, number));

	return frame ? *frame : (struct frame){ NULL, NULL };
}
