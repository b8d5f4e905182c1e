/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter - how many records and span events passed each stage of a recording.
 *
 * Every stage counts what comes in, what goes out, and what it drops and why.  The counters are
 * stored at the end of a capture (RECORD_COUNTER), and counter_check() compares them: what a stage
 * passed on must have arrived at the next one.  So a record that disappears without being counted
 * as lost shows up as a disagreement, whichever stage it disappeared in.
 *
 * Numbers are written to disk: add before COUNTER_READ, never renumber.
 */
#ifndef SONDE_EVENT_COUNTER_H
#define SONDE_EVENT_COUNTER_H

#include "base/base.h"
#include "event/event.h"

enum counter {
	/* records of the kernel programs */
	COUNTER_KERNEL_DRAINED = 1, /* taken from the rings of CPUs */
	COUNTER_KERNEL_LOST = 2,    /* dropped, as a ring was full */
	COUNTER_KERNEL_LEFT = 3,    /* reserved in a ring, but not committed when recording ended */
	COUNTER_KERNEL_MISSED = 4,  /* runs of kernel programs that the kernel skipped */
	COUNTER_ADDED = 5,          /* made by the recorder: clocks, command lines, names, ... */
	COUNTER_FOLDED = 6,         /* left out, as the capture has the same already */
	COUNTER_LATE = 7,           /* written, but out of order */
	COUNTER_AGENT_RECORDS = 8,  /* made of span events */
	COUNTER_WRITTEN = 9,        /* in the capture, but for the counters */

	COUNTER_SAMPLES_DUE = 10,     /* of --profile, while CPUs were busy */
	COUNTER_SAMPLES_TAKEN = 11,   /* of these; in and out of scope */
	COUNTER_SAMPLES_MISSING = 12, /* on CPUs with less than half of theirs */

	/* events of agents */
	COUNTER_EVENTS_DRAINED = 16, /* taken from the rings of threads */
	COUNTER_EVENTS_LOST = 17,    /* dropped by agents, as a ring was full or there was none */
	COUNTER_EVENTS_MISSING = 18, /* numbers that are neither drained nor reported as lost */
	COUNTER_EVENTS_LEFT = 19,    /* still in a ring when the recorder let go of it */
	COUNTER_EVENTS_DAMAGED = 20, /* malformed */
	COUNTER_EVENTS_OUT_OF_SCOPE = 21, /* of threads that are not recorded, or unknown */
	COUNTER_EVENTS_OUT_OF_TIME = 22,  /* before recording began, or after it ended */
	COUNTER_BEGINS = 23,
	COUNTER_ENDS = 24,
	COUNTER_CONTEXTS = 25,
	COUNTER_CONTEXTS_UNKNOWN = 26,   /* of them: of an unknown thread, dropped */
	COUNTER_SPANS_PAIRED = 27,       /* of a begin and an end */
	COUNTER_SPANS_END_ONLY = 28,     /* of an end; it began before the recorder came */
	COUNTER_SPANS_UNFINISHED = 29,   /* of a begin; its process or the recording ended first */
	COUNTER_BEGINS_REPEATED = 30,    /* of a span that had begun already, dropped */
	COUNTER_BEGINS_DISCARDED = 31,   /* dropped, as too many spans were open */
	COUNTER_ENDS_WITHOUT_BEGIN = 32, /* dropped, as nothing tells when the span began */
	COUNTER_SPANS_IN_FUTURE = 33,    /* dropped, as stamped later than the recorder's clock */
	COUNTER_AGENT_GAPS = 34,         /* times in which a process wrote no events */
	COUNTER_EVENTS_TOO_OLD = 35, /* dropped, as their process writes more than can be taken */

	/* known to readers alone, never written */
	COUNTER_READ = 62,
	COUNTER_SPANS_READ = 63,
	COUNTER_COUNT = 64,
};

struct counters {
	uint64_t n[COUNTER_COUNT];
};

/* Where nobody counts, c is NULL. */
static inline void counter_add(struct counters *c, enum counter which, uint64_t n)
{
	if (c)
		c->n[which] += n;
}

/* The name of a counter in JSON; NULL if it is unknown. */
const char *counter_name(unsigned int counter);

/* Why a counter's records or events are not in the capture; NULL if they are, or may be. */
const char *counter_drop_reason(unsigned int counter);

/* Two sums that must be equal, and what they count. */
struct counter_sums {
	const char *what, *in, *out;
	uint64_t before, after;
};

/*
 * The i-th comparison: false behind the last.  Comparisons with what was read are left out unless
 * `read` is true.
 */
bool counter_check(const struct counters *c, size_t i, bool read, struct counter_sums *ret);

/* Whether all comparisons hold. */
bool counters_agree(const struct counters *c, bool read);

#endif
