/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks - what the frames of a stack are called.
 *
 * Functions get their names when a recording ends, so symbols stand behind
 * everything that needs them.  Whoever shows stacks therefore reads a capture
 * once before, for these tables.
 */
#ifndef SONDE_REPORT_STACKS_H
#define SONDE_REPORT_STACKS_H

#include "event/capture.h"

struct symbol {
	const struct record_symbol *record; /* in the capture */
	struct symbol *caller;              /* what it was inlined into, or NULL */
};

struct frame {
	const struct record_frame *record; /* in the capture; NULL if there is none */
	struct symbol *symbol;             /* NULL if it has no name */
};

struct stacks;

struct stacks *stacks_new(void);
void stacks_free(struct stacks *stacks);
DEFINE_FREEP(stacks)

/* Frames and symbols are kept, and that a stack is used; other records pass by. */
void stacks_feed(struct stacks *stacks, const struct record *record);
void stacks_use(struct stacks *stacks, uint32_t stack);

bool stacks_used(const struct stacks *stacks, uint32_t stack);
struct frame stacks_frame(const struct stacks *stacks, uint32_t frame);

#endif
