/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_types - the events of a text trace, by their names.
 *
 * A line names its event; what that name means is found out the first time and
 * then looked up.  A trace has some hundred names at most; a file made to have
 * more gets one type for all that come late.
 */
#ifndef SONDE_READ_TEXT_TYPES_H
#define SONDE_READ_TEXT_TYPES_H

#include "base/map.h"
#include "base/vec.h"
#include "read/text/pattern.h"

struct text_type {
	char *name;
	uint32_t number;                 /* as in raw_event.type */
	uint8_t kind;                    /* enum raw_kind */
	int nr;                          /* of the system call, or SYSCALL_NONE */
	const struct raw_layout *layout; /* NULL if it is RAW_OTHER */
	struct text_pattern *patterns;   /* to be tried in this order */
	size_t pattern_count;
};

/* All zero is none. */
struct text_types {
	VEC(struct text_type *) list; /* by their numbers */
	struct map index;             /* hash of the name -> number + 1 */
};

/*
 * The type that a line calls so; NULL if this is its first line.  Different
 * kinds of lines may use the same word for different events.
 */
struct text_type *text_types_find(struct text_types *types, char line_kind, const char *word,
				  size_t len);

/*
 * Adds what was not found, as an event of that name, which has a layout or is
 * one that we do not use.  Patterns is a list that ends with NULL.
 */
struct text_type *text_types_add(struct text_types *types, char line_kind, const char *word,
				 size_t len, const char *name, bool has_layout,
				 const char *const *patterns);

/* "" if there is none. */
const char *text_types_name(const struct text_types *types, uint32_t number);
void text_types_done(struct text_types *types);

#endif
