/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_lines - the lines of a text trace, in order of time.
 *
 * Most traces are in order and are read line by line without any index.  Others contain
 * one CPU after the other, or one full buffer after the other; these get an index of their
 * lines, 16 bytes each, sorted by time.  A first pass over the times of all lines decides
 * which it is.  That pass also counts unknown lines, so that a reader can report them
 * before it returns the first event.
 */
#ifndef SONDE_READ_TEXT_LINES_H
#define SONDE_READ_TEXT_LINES_H

#include "base/err.h"
#include "base/vec.h"
#include "base/view.h"
#include "read/time_sort.h"

enum text_line_kind {
	TEXT_EVENT,
	TEXT_MARK, /* describes the next event, such as a loss; sorted together with that event */
	TEXT_COMMENT, /* skipped */
	TEXT_UNKNOWN, /* skipped and counted */
};

/* Classifies a line, without its newline, and sets the time of an event. */
typedef enum text_line_kind text_classify_fn(void *arg, struct view line, nsec_t *ret_time);

struct text_lines {
	struct view text;
	struct view
		file;   /* the mapping, which can be larger than text; empty if text is borrowed */
	char *copy;     /* of a file that cannot be mapped, or NULL */
	char *joined;   /* the text if it consists of several parts of the file, or NULL */
	bool has_index; /* the file is not in order */
	VEC(struct time_sort_item) index; /* events and marks, by time; index is the offset */
	size_t next;            /* position in the index, or offset of the next line without one */
	nsec_t first;           /* time of the earliest event */
	uint64_t events;        /* number in the file */
	uint64_t unknown;       /* number of unknown lines */
	uint64_t first_unknown; /* line number of the first one, from 1 */
};

/* Maps a file, or reads it if it cannot be mapped, as files of tracefs. */
int text_lines_open(struct text_lines *lines, const char *path, struct err *err);

/* Makes the first pass; must be called before text_lines_next(). */
void text_lines_scan(struct text_lines *lines, text_classify_fn *classify, void *arg);

/*
 * The next line, without its newline; false after the last.  Returns all lines of a file
 * in order, and only events and marks of other files.
 */
bool text_lines_next(struct text_lines *lines, struct view *ret);

void text_lines_done(struct text_lines *lines);

#endif
