/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_source - the base of the decoders of text traces.
 *
 * It contains the lines in order of time, the event types, and the losses: a tracer reports
 * lost events in a line before the next event of the same CPU, and this becomes an event of
 * its own, RAW_LOST.
 */
#ifndef SONDE_READ_TEXT_SOURCE_H
#define SONDE_READ_TEXT_SOURCE_H

#include "read/text/lines.h"
#include "read/text/types.h"

struct text_cpu {
	nsec_t last;   /* time of the last event */
	uint64_t lost; /* number of events lost since then */
};

struct text_source {
	struct raw_source source;
	struct text_lines lines;
	struct text_types types;
	struct raw_event empty[RAW_KIND_COUNT];
	VEC(struct text_cpu) cpus;
	struct raw_event held; /* the event after a loss, to be returned next */
	bool is_held;

	const struct text_type *type; /* of the last event, or the held one; NULL at the start */
	struct view text;             /* fields of that event */
};

/* Initialises a zeroed source; the caller sets source.next and source.fields. */
void text_source_init(struct text_source *t);

/* Counts events that a CPU lost. */
void text_source_lost(struct text_source *t, uint16_t cpu, uint64_t count);

/* Returns an event, or the loss before it; then the event itself is held back. */
void text_source_emit(struct text_source *t, const struct raw_event *e, struct raw_event *ret);

/* Returns the event that was held back, if any. */
bool text_source_next_held(struct text_source *t, struct raw_event *ret);

/*
 * Sets the kinds of events in the file.  A text trace does not contain the list of enabled
 * events, so replay assumes that kinds without events were not enabled.
 */
void text_source_set_kinds(struct text_source *t, uint32_t kinds);

/* Adds a clause to the warning. */
__attribute__((format(printf, 2, 3))) void text_source_warning(struct text_source *t,
							       const char *fmt, ...);

/* Adds the number of unknown lines to the warning, if there are any. */
void text_source_warn_unknown(struct text_source *t, const char *name);

void text_source_free(struct raw_source *source);

#endif
