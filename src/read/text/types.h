/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_types - the event types of a text trace, by name.
 *
 * The name on a line is resolved at its first occurrence and then looked up.  A trace has a
 * few hundred names at most; if a file has too many, all later names share one type.
 */
#ifndef SONDE_READ_TEXT_TYPES_H
#define SONDE_READ_TEXT_TYPES_H

#include "base/map.h"
#include "base/vec.h"
#include "read/text/pattern.h"

struct text_type {
	char *name;
	uint32_t number;                 /* for raw_event.type */
	uint8_t kind;                    /* enum raw_kind */
	int nr;                          /* number of the system call, or SYSCALL_NONE */
	const struct raw_layout *layout; /* NULL for RAW_OTHER */
	struct text_pattern *patterns;   /* tried in this order */
	size_t pattern_count;
};

/* Initialise with zeros. */
struct text_types {
	VEC(struct text_type *) list; /* by number */
	struct map index;             /* hash of the name -> number + 1 */
};

/* A name as it is in a file. */
struct text_type_name {
	char line_kind; /* the same word can be different events on different kinds of lines */
	struct view word;
};

/* NULL at the first occurrence of the name. */
struct text_type *text_types_find(struct text_types *types, struct text_type_name name);

/*
 * Adds a type that was not found.  event_name: the name of the event in the kernel.  Without
 * has_layout, the type is RAW_OTHER.  patterns: NULL, or a list that ends with NULL.
 */
struct text_type *text_types_add(struct text_types *types, struct text_type_name name,
				 const char *event_name, bool has_layout,
				 const char *const *patterns);

/* "" if there is no type with this number. */
const char *text_types_name(const struct text_types *types, uint32_t number);
void text_types_done(struct text_types *types);

#endif
