/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_pattern - how the kernel, or a tool, prints an event.
 *
 *	"{prev_comm}:{prev_pid} [{prev_prio}] {prev_state:S} ==> {next_comm}:{next_pid} ["
 *
 * A printed event is no longer a list of fields: names of threads may have
 * blanks, colons and equals signs in them.  But the text around them is known,
 * so a pattern finds where each value ends by what comes next, and if a name has
 * something like that in it, by whether it goes on from there as it must.
 *
 * In braces is the field's name, and its form (enum text_form) if that is not
 * what the field has mostly.  What stands behind the last literal is left alone.
 */
#ifndef SONDE_READ_TEXT_PATTERN_H
#define SONDE_READ_TEXT_PATTERN_H

#include "base/view.h"
#include "read/text/value.h"

enum { TEXT_STEPS = 12 };

/* A literal, and the value behind it. */
struct text_step {
	const char *literal, *name; /* borrowed from the pattern, not terminated */
	uint8_t literal_len, name_len;
	uint8_t form;                  /* enum text_form; 0: the pattern ends with the literal */
	const struct raw_field *field; /* NULL if the value is put nowhere */
};

struct text_pattern {
	struct text_step steps[TEXT_STEPS + 1];
	size_t count; /* of values */
};

/* Makes one of its words, which must live as long, for events with this layout. */
void text_pattern_init(struct text_pattern *pattern, const char *words,
		       const struct raw_layout *layout);

/*
 * Whether the text is as the pattern says; then the event has its fields, and
 * values (if not NULL, of TEXT_STEPS) what they were written as.
 */
bool text_pattern_match(const struct text_pattern *pattern, const char *p, const char *end,
			struct raw_event *e, struct raw_text *values);

/* The field of a layout that a trace calls so; NULL if there is none, or no layout. */
const struct raw_field *text_field_named(const struct raw_layout *layout, const char *name,
					 size_t len);

/*
 * The same for "key=value key=value", in any order and with anything between: a
 * value may have blanks, if no key comes after them.
 */
void text_take_pairs(const struct raw_layout *layout, struct view text, struct raw_event *e);

/* All such pairs; if there are none, the whole as "text". */
void text_visit_pairs(struct view text, const struct raw_visitor *visitor, void *arg);
void text_visit(const struct raw_visitor *visitor, void *arg, struct raw_text name,
		struct raw_text value);

#endif
