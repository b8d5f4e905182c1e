/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_lines - the lines of a text trace, in the order of time.
 *
 * Most traces are in order already.  Then they are read line by line and nothing
 * is kept.  Others are one CPU behind the other, or a tracer wrote whichever
 * buffer was full: those get a list of their lines, 16 bytes each, that is
 * sorted by time.  Which it is shows a first look at every line's time, which
 * also counts what is no event, so that a reader can say so before it begins.
 *
 * Sorting is by digits of the time (radix), so that it is stable and takes time
 * in proportion to the lines.
 */
#ifndef SONDE_READ_TEXT_LINES_H
#define SONDE_READ_TEXT_LINES_H

#include "base/err.h"
#include "base/vec.h"
#include "base/view.h"

/* What a line is. */
enum text_line_kind {
	TEXT_EVENT,
	TEXT_MARK,    /* says something of the event that follows it, and goes where that goes */
	TEXT_COMMENT, /* to be passed over, */
	TEXT_STRANGE, /* as is this, but it should not be there */
};

/* Says what a line is, and of an event its time; s is what stands before its end. */
typedef enum text_line_kind (*text_look)(void *arg, struct view line, nsec_t *ret_time);

struct text_place {
	nsec_t time;
	uint64_t at; /* where the line begins */
};

struct text_lines {
	struct view text;
	struct view file; /* that is mapped, of which text may be a part; empty if it is borrowed */
	char *copy;       /* of a file that cannot be mapped, else NULL */
	char *joined;     /* parts of the file that text is made of, else NULL */
	bool sorted;      /* by the list of places, since the file is not */
	VEC(struct text_place) places;
	size_t next;        /* place, if sorted; else where the next line begins */
	nsec_t first;       /* the earliest event's time */
	uint64_t events;    /* in the file */
	uint64_t strange;   /* lines, */
	uint64_t strange_1; /* and the number of the first of them, from 1 */
};

/* Maps a file, or reads it, if it is one that the kernel makes up (tracefs). */
int text_lines_open(struct text_lines *lines, const char *path, struct err *err);

/* Looks at every line; must come before text_lines_next(). */
void text_lines_look(struct text_lines *lines, text_look look, void *arg);

/*
 * The next line, without its end; false after the last.  If the file is in
 * order that is every line, else every event and mark.
 */
bool text_lines_next(struct text_lines *lines, struct view *ret);

void text_lines_done(struct text_lines *lines);

#endif
