/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info - what is in a capture, how whole it is, and what was lost.
 *
 * Everything is counted in one pass and then told, as an account for people or
 * as JSON.  A damaged capture is counted up to the damage, so that what was
 * read can still be told.
 */
#ifndef SONDE_REPORT_INFO_H
#define SONDE_REPORT_INFO_H

#include <stdio.h>

#include "base/vec.h"
#include "event/capture.h"

struct info_state { /* of one letter */
	uint64_t count;
	nsec_t time;
};

struct info_loss {
	unsigned cpu;
	nsec_t start, end;
	uint64_t count;
};

struct info {
	const char *file; /* borrowed, like the strings of meta */
	uint64_t size;    /* of the file */
	const struct capture_meta *meta;
	bool complete;
	uint64_t cut_at;   /* where it ends, if it is neither complete nor damaged */
	struct err damage; /* what capture_next() said; "" if nothing is wrong */
	nsec_t end;        /* the last record's time */

	uint64_t records[RECORD_KIND_COUNT];
	uint64_t unknown, total; /* records of no known kind; of any */
	uint64_t threads, processes, neighbours;
	struct info_state states[128]; /* by letter; in scope only */
	nsec_t irq;                    /* of the time in R */
	uint64_t lost;
	VEC(struct info_loss) losses; /* in the order of the file */
};

/* Count. On damage the return is negative, and info holds what came before it. */
int info_read(struct info *info, const char *file, const struct capture *cap, struct err *err);
void info_done(struct info *info);

/* Both return 0, or the negative errno of a write that failed. */
int info_text(const struct info *info, FILE *file);
int info_json(const struct info *info, FILE *file);

#endif
