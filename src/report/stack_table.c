/* SPDX-License-Identifier: Apache-2.0 */
#include "report/stack_table.h"

#include <string.h>

#include "base/arena.h"
#include "base/map.h"

struct stack_table {
	struct arena *arena;
	struct map frames; /* key: struct stack_frame * */
	struct map used;   /* keys of table */
};

struct stack_table *stack_table_new(void)
{
	struct stack_table *table = must_alloc(sizeof(*table));

	table->arena = arena_new();
	return table;
}

void stack_table_free(struct stack_table *table)
{
	if (!table)
		return;
	map_done(&table->frames);
	map_done(&table->used);
	arena_free(table->arena);
	free(table);
}

static uint64_t key_of(const struct source *source, uint32_t number)
{
	return (uint64_t)source->input << 32 | number;
}

static struct stack_frame *add_frame(struct stack_table *table, const struct source *source,
				     uint32_t number)
{
	struct stack_frame *frame = map_find_ptr(&table->frames, key_of(source, number));

	if (!frame) {
		frame = arena_new_of(table->arena, struct stack_frame);
		map_insert_ptr(&table->frames, key_of(source, number), frame);
	}
	return frame;
}

/* Copy a record, which is valid only until the next one is read. */
static const void *copy_record(struct stack_table *table, const struct record *record, size_t size)
{
	size_t available = record->words * 8;

	return memcpy(arena_alloc(table->arena, size), record, available < size ? available : size);
}

static void add_symbol(struct stack_table *table, const struct source *source,
		       const struct record_symbol *record)
{
	struct frame_symbol **at = &add_frame(table, source, record->frame)->symbol;

	while (*at && (*at)->record->depth < record->depth)
		at = &(*at)->caller;
	if (*at && (*at)->record->depth == record->depth)
		return;

	struct frame_symbol *symbol = arena_new_of(table->arena, struct frame_symbol);

	symbol->record = copy_record(table, &record->head, sizeof(*record));
	symbol->caller = *at;
	*at = symbol;
}

void stack_table_add(struct stack_table *table, const struct source *source,
		     const struct record *record)
{
	if (record->kind == RECORD_FRAME) {
		const struct record_frame *r = (const void *)record;
		add_frame(table, source, r->frame)->record = copy_record(table, record, sizeof(*r));
	} else if (record->kind == RECORD_SYMBOL) {
		add_symbol(table, source, (const void *)record);
	}
}

void stack_table_use(struct stack_table *table, const struct source *source, uint32_t stack)
{
	*map_insert(&table->used, key_of(source, stack)) = 1;
}

bool stack_table_is_used(const struct stack_table *table, const struct source *source,
			 uint32_t stack)
{
	return map_find(&table->used, key_of(source, stack));
}

struct stack_frame stack_table_frame(const struct stack_table *table, const struct source *source,
				     uint32_t number)
{
	const struct stack_frame *frame = map_find_ptr(&table->frames, key_of(source, number));

	return frame ? *frame : (struct stack_frame){ NULL, NULL };
}
