/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge - several inputs as one stream of records in the order of their time.
 *
 * All times are put on one line: CLOCK_MONOTONIC of the first host of which
 * there is a kernel trace, or CLOCK_REALTIME if there is none.  What would stand
 * before the begin of that line, as a trace from before the machine was started,
 * is left out, counted, and told of.
 *
 * Kernel traces of one machine, from one boot to the next, speak of the same
 * threads; those of different machines do not.  One that names no machine speaks
 * of the only one that another names, if there is only one; so do spans.
 *
 * The clocks of different machines are aligned by the messages they sent each
 * other (align.h), for which kernel traces are read twice.  Machines that
 * cannot be aligned are in different groups: they are shown by what each calls
 * CLOCK_REALTIME, but nothing may be concluded from the order of their times.
 */
#ifndef SONDE_READ_MERGE_H
#define SONDE_READ_MERGE_H

#include "event/source.h"
#include "read/input.h"

struct merge;

/* Opens all paths (NULL-terminated), in the format that each shows, or in this one if not NULL. */
int merge_open(char **paths, const char *format, struct merge **ret, struct err *err);
void merge_free(struct merge *merge);
DEFINE_FREEP(merge)

/*
 * As input_next(); *ret_source tells how to read its strings and times, and
 * holds as long as merge.  What is wrong with one input is told when the others
 * have given all their records.
 */
int merge_next(struct merge *merge, const struct record **ret, const struct source **ret_source,
	       struct err *err);

/* What could not be used: the i-th sentence, NULL behind the last.  Asked when all is read. */
const char *merge_warning(const struct merge *merge, size_t i);

/* The machines of which there are kernel traces; spans may be of others. */
size_t merge_host_count(const struct merge *merge);
const char *merge_host_name(const struct merge *merge, size_t i); /* "" if there is none */

enum merge_alignment {
	MERGE_REFERENCE,        /* its clock is the line, */
	MERGE_ALIGNED,          /* or was aligned with it by messages; */
	MERGE_CONTRADICTORY,    /* these contradict each other, and the quickest were believed; */
	MERGE_TOO_FEW_MESSAGES, /* there are too few: what it calls CLOCK_REALTIME is believed, */
	MERGE_UNALIGNED,        /* if it knows that; else it just begins when the line does */
};

/* How the clock of a machine was put on the common line. */
struct merge_clock {
	const char *host;      /* "" if no trace names it; borrowed, as is */
	const char *reference; /* the machine whose clock the line is */
	enum merge_alignment alignment;
	uint16_t group;    /* only times of one and the same can be compared */
	int64_t offset;    /* ns by which it is behind the reference, by what each calls */
			   /* CLOCK_REALTIME, in the middle of what both recorded */
	double drift;      /* by how much that grows, in millionths (ppm) */
	nsec_t bound;      /* how wrong the offset can be, anywhere in what both recorded; */
			   /* UINT64_MAX if that is not known */
	const char *via;   /* the machine that it exchanged the messages with; "" if with none */
	uint64_t from, to; /* messages received from that one, and sent to it */
	uint64_t dropped;  /* of these, so many were not believed */
};
struct merge_clock merge_clock(const struct merge *merge, size_t host);

/* What to add to times on the common line to get CLOCK_REALTIME. */
int64_t merge_realtime_offset(const struct merge *merge);

/* When the first recording began, on the common line; 0 if no input says. */
nsec_t merge_start(const struct merge *merge);

#endif
