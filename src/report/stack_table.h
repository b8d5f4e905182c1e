/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_table - the functions of stacks.
 *
 * The recorder resolves symbols when a recording ends, so SYMBOL records come after
 * the stacks that need them.  To show stacks, read all records once for this table
 * first.  Stacks and frames are numbered per input.
 */
#ifndef SONDE_REPORT_STACK_TABLE_H
#define SONDE_REPORT_STACK_TABLE_H

#include "event/stream.h"

struct frame_symbol {
	const struct record_symbol *record;
	struct frame_symbol *caller; /* the function it was inlined into, or NULL */
};

struct stack_frame {
	const struct record_frame *record; /* NULL if there is none */
	struct frame_symbol *symbol;       /* NULL if it was not resolved */
};

struct stack_table;

struct stack_table *stack_table_new(void);
void stack_table_free(struct stack_table *table);
DEFINE_FREEP(stack_table)

/* Add a FRAME or SYMBOL record; other kinds are ignored. */
void stack_table_add(struct stack_table *table, const struct source *source,
		     const struct record *record);

/* Mark a stack as used by a record that is shown. */
void stack_table_use(struct stack_table *table, const struct source *source, uint32_t stack);
bool stack_table_is_used(const struct stack_table *table, const struct source *source,
			 uint32_t stack);

struct stack_frame stack_table_frame(const struct stack_table *table, const struct source *source,
				     uint32_t frame);

#endif
