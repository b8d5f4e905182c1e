/* SPDX-License-Identifier: Apache-2.0 */
#include "report/stacks.h"

#include "base/arena.h"
#include "base/map.h"

struct stacks {
	struct arena *arena;
	struct map frames; /* frame: struct frame * */
	struct map used;   /* stack */
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

static struct frame *frame_of(struct stacks *stacks, uint32_t number)
{
	struct frame *frame = map_find_ptr(&stacks->frames, number);

	if (!frame) {
		frame = arena_new_of(stacks->arena, struct frame);
		map_insert_ptr(&stacks->frames, number, frame);
	}
	return frame;
}

static void feed_symbol(struct stacks *stacks, const struct record_symbol *record)
{
	struct symbol **at = &frame_of(stacks, record->frame)->symbol;

	while (*at && (*at)->record->depth < record->depth)
		at = &(*at)->caller;
	if (*at && (*at)->record->depth == record->depth)
		return;

	struct symbol *symbol = arena_new_of(stacks->arena, struct symbol);

	symbol->record = record;
	symbol->caller = *at;
	*at = symbol;
}

void stacks_feed(struct stacks *stacks, const struct record *record)
{
	if (record->kind == RECORD_FRAME) {
		const struct record_frame *r = (const void *)record;
		frame_of(stacks, r->frame)->record = r;
	} else if (record->kind == RECORD_SYMBOL) {
		feed_symbol(stacks, (const void *)record);
	}
}

void stacks_use(struct stacks *stacks, uint32_t stack)
{
	*map_insert(&stacks->used, stack) = 1;
}

bool stacks_used(const struct stacks *stacks, uint32_t stack)
{
	return map_find(&stacks->used, stack);
}

struct frame stacks_frame(const struct stacks *stacks, uint32_t number)
{
	const struct frame *frame = map_find_ptr(&stacks->frames, number);

	return frame ? *frame : (struct frame){ NULL, NULL };
}
