/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_source - what the decoders of text traces have in common.
 *
 * Lines in the order of time, the types of events, and what was lost: a tracer
 * says so in a line before the next event of that CPU, from which it becomes an
 * event of its own, RAW_LOST.
 */
#ifndef SONDE_READ_TEXT_SOURCE_H
#define SONDE_READ_TEXT_SOURCE_H

#include "read/text/lines.h"
#include "read/text/types.h"

struct text_cpu {
	nsec_t last;   /* when it had an event */
	uint64_t lost; /* since then */
};

struct text_source {
	struct raw_source source;
	struct text_lines lines;
	struct text_types types;
	struct raw_event empty[RAW_KIND_COUNT];
	VEC(struct text_cpu) cpus;
	struct raw_event held; /* the event before which something was lost, */
	bool is_held;          /* to be given next */

	const struct text_type *type; /* of the last event, or the held one; NULL at first */
	struct view text;             /* its fields */
};

/* Sets up what needs it in one that is all zero, and its functions but for next and fields. */
void text_source_init(struct text_source *t);

/* Takes note that a CPU has lost events. */
void text_source_lost(struct text_source *t, uint16_t cpu, uint64_t count);

/* Gives an event that was read, or what was lost before it; then the event is held back. */
void text_source_give(struct text_source *t, const struct raw_event *e, struct raw_event *ret);

/* Whether an event was held back: then it is *ret. */
bool text_source_take_held(struct text_source *t, struct raw_event *ret);

/*
 * What kinds of events the first look has found.  Of those that are not there,
 * nobody knows whether they were asked for; replay then takes them as not.
 */
void text_source_set_kinds(struct text_source *t, uint32_t kinds);

/* Adds a sentence to the notice. */
__attribute__((format(printf, 2, 3))) void text_source_warning(struct text_source *t,
							       const char *fmt, ...);

/* Says in the notice that there are strange lines, if there are. */
void text_source_tell_strange(struct text_source *t, const char *name);

void text_source_free(struct raw_source *source);

#endif
