/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_pattern - how the kernel or a tool prints an event.
 *
 *	"{prev_comm}:{prev_pid} [{prev_prio}] {prev_state:S} ==> {next_comm}:{next_pid} ["
 *
 * The fields of a printed event have no delimiters: names of threads can contain blanks,
 * colons and equals signs.  But the text around them is known, so a pattern finds the end
 * of each value by the literal after it.  If a name contains that literal, the pattern
 * checks whether the rest of the text matches from there.
 *
 * Braces contain the name of a field, and its form (enum text_form) if that is not the usual
 * one of the field.  Text after the last literal is ignored.
 */
#ifndef SONDE_READ_TEXT_PATTERN_H
#define SONDE_READ_TEXT_PATTERN_H

#include "base/view.h"
#include "read/text/value.h"

enum { TEXT_VALUES_MAX = 12 };

/* A literal, and the value after it. */
struct text_step {
	const char *literal, *name; /* borrowed from the pattern, not terminated */
	uint8_t literal_len, name_len;
	uint8_t form;                  /* enum text_form; 0 after the last literal */
	const struct raw_field *field; /* NULL if the value is not stored */
};

struct text_pattern {
	struct text_step steps[TEXT_VALUES_MAX + 1];
	size_t count; /* number of values */
};

/* Compiles a pattern, which is borrowed, for events with this layout. */
void text_pattern_init(struct text_pattern *pattern, const char *words,
		       const struct raw_layout *layout);

/*
 * Whether the text matches.  Sets the fields of the event, and values to the original texts
 * unless it is NULL; values has TEXT_VALUES_MAX elements.
 */
bool text_pattern_match(const struct text_pattern *pattern, const char *p, const char *end,
			struct raw_event *e, struct raw_text *values);

/* The field with this name in traces; NULL if there is none, or layout is NULL. */
const struct raw_field *text_find_field(const struct raw_layout *layout, const char *name,
					size_t len);

/*
 * Sets fields from "key=value key=value", in any order and with any text in between.  A value
 * can contain blanks and ends before the next key.
 */
void text_parse_pairs(const struct raw_layout *layout, struct view text, struct raw_event *e);

/* Visits all such pairs, or the whole text as "text" if there are none. */
void text_visit_pairs(struct view text, const struct raw_visitor *visitor, void *arg);
void text_visit(const struct raw_visitor *visitor, void *arg, struct raw_text name,
		struct raw_text value);

#endif
