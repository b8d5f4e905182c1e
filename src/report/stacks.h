/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks - what the frames of a stack are called.
 *
 * Functions get their names when a recording ends, so symbols stand behind
 * everything that needs them.  Whoever shows stacks therefore reads all records
 * once before, for these tables.  Each input numbers its own.
 */
#ifndef SONDE_REPORT_STACKS_H
#define SONDE_REPORT_STACKS_H

#include "event/stream.h"

struct symbol {
	const struct record_symbol *record;
	struct symbol *caller; /* what it was inlined into, or NULL */
};

struct frame {
	const struct record_frame *record; /* NULL if there is none */
	struct symbol *symbol;             /* NULL if it has no name */
};

struct stacks;

struct stacks *stacks_new(void);
void stacks_free(struct stacks *stacks);
DEFINE_FREEP(stacks)

/* Frames and symbols are kept, and that a stack is used; other records pass by. */
void stacks_feed(struct stacks *stacks, const struct source *source, const struct record *record);
void stacks_use(struct stacks *stacks, const struct source *source, uint32_t stack);

bool stacks_used(const struct stacks *stacks, const struct source *source, uint32_t stack);
struct frame stacks_frame(const struct stacks *stacks, const struct source *source, uint32_t frame);

#endif
