/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge - several inputs as one stream of records, in order of time.
 *
 * All times are converted to one timeline: CLOCK_MONOTONIC of the first host that
 * has a kernel trace, or CLOCK_REALTIME if no input is a kernel trace.  Records
 * from before the start of that timeline, such as those of a trace recorded before
 * the host booted, are dropped and counted; a warning reports how many.
 *
 * Kernel traces of one host and one boot describe the same threads; traces of
 * different hosts do not.  A trace that does not name its host belongs to the only
 * host that another trace names, if there is exactly one.  The same holds for
 * spans.
 *
 * The clocks of different hosts are aligned by the messages between them
 * (align.h); for this, kernel traces are read twice.  Hosts whose clocks cannot be
 * aligned are in different groups.  Their records are merged by CLOCK_REALTIME, but
 * the order of events in different groups is not reliable, and no analysis uses it.
 */
#ifndef SONDE_READ_MERGE_H
#define SONDE_READ_MERGE_H

#include "event/source.h"
#include "read/input.h"

struct merge;

/* Opens a NULL-terminated list of paths; detects the format of each if format is NULL. */
int merge_open(char **paths, const char *format, struct merge **ret, struct err *err);
void merge_free(struct merge *merge);
DEFINE_FREEP(merge)

/*
 * As input_next().  *ret_source converts the strings and times of the record and is
 * valid until merge_free().  If one input is damaged, the error is returned after
 * the last record of the others.
 */
int merge_next(struct merge *merge, const struct record **ret, const struct source **ret_source,
	       struct err *err);

/* The i-th warning, or NULL after the last.  Complete only after the last record. */
const char *merge_warning(const struct merge *merge, size_t i);

/* The hosts that have kernel traces; spans can come from others. */
size_t merge_host_count(const struct merge *merge);
const char *merge_host_name(const struct merge *merge, size_t i); /* "" if unknown */

enum merge_alignment {
	MERGE_REFERENCE,        /* the timeline is the clock of this host */
	MERGE_ALIGNED,          /* by messages */
	MERGE_CONTRADICTORY,    /* by the fastest messages, since no offset fits all of them */
	MERGE_TOO_FEW_MESSAGES, /* by CLOCK_REALTIME only */
	MERGE_UNALIGNED,        /* CLOCK_REALTIME unknown: assumed to start with the timeline */
};

/* How the clock of a host was converted to the timeline. */
struct merge_clock {
	const char *host;      /* "" if unknown; borrowed, as all strings here */
	const char *reference; /* host of the clock that is the timeline */
	enum merge_alignment alignment;
	uint16_t group;    /* times can be compared only within a group */
	int64_t offset;    /* ns that CLOCK_REALTIME of the host is behind the reference, */
			   /* in the middle of the time that both recorded */
	double drift;      /* change of the offset, in ppm */
	nsec_t bound;      /* maximum error of the offset while both recorded; */
			   /* UINT64_MAX if unknown */
	const char *via;   /* host with which it exchanged the messages; "" if none */
	uint64_t from, to; /* messages received from and sent to that host */
	uint64_t dropped;  /* contradictory messages among these */
};
struct merge_clock merge_clock(const struct merge *merge, size_t host);

/* ns from the timeline to CLOCK_REALTIME. */
int64_t merge_realtime_offset(const struct merge *merge);

/* Start of the first recording, on the timeline; 0 if unknown. */
nsec_t merge_start(const struct merge *merge);

#endif
