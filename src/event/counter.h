/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter - number of records and span events at each stage of a recording.
 *
 * Each stage counts its input, its output, and what it drops and why.  The counters are stored at
 * the end of a capture (RECORD_COUNTER), and counter_check() compares them: the output of a stage
 * must equal the input of the next one.  So a record that disappears without being counted as lost
 * shows up as a difference.
 *
 * Numbers are written to disk: add before COUNTER_READ, never renumber.
 */
#ifndef SONDE_EVENT_COUNTER_H
#define SONDE_EVENT_COUNTER_H

#include "base/base.h"
#include "event/event.h"

enum counter {
	/* records of the BPF programs */
	COUNTER_KERNEL_DRAINED = 1, /* read from the per-CPU rings */
	COUNTER_KERNEL_LOST = 2,    /* dropped because a ring was full */
	COUNTER_KERNEL_UNCOMMITTED =
		3,                 /* reserved in a ring, but not committed when recording ended */
	COUNTER_KERNEL_MISSED = 4, /* runs of BPF programs that the kernel skipped */
	COUNTER_ADDED = 5,         /* created by the recorder: clocks, command lines, names, ... */
	COUNTER_DUPLICATES = 6,    /* duplicates of records that the capture already contains */
	COUNTER_OUT_OF_ORDER = 7,  /* written out of order */
	COUNTER_AGENT_RECORDS = 8, /* created from span events */
	COUNTER_WRITTEN = 9,       /* in the capture, without the counters */

	/* samples of --profile */
	COUNTER_SAMPLES_DUE = 10,     /* expected for the busy time of all CPUs */
	COUNTER_SAMPLES_TAKEN = 11,   /* taken, in and out of scope */
	COUNTER_SAMPLES_MISSING = 12, /* missing on CPUs that took less than half */

	/* span events of agents */
	COUNTER_EVENTS_DRAINED = 16, /* read from the per-thread rings */
	COUNTER_EVENTS_LOST = 17,    /* dropped by agents because a ring was full or missing */
	COUNTER_EVENTS_MISSING = 18, /* sequence numbers neither drained nor reported as lost */
	COUNTER_EVENTS_UNREAD = 19,  /* unread when the recorder detached from a ring */
	COUNTER_EVENTS_DAMAGED = 20, /* malformed */
	COUNTER_EVENTS_OUT_OF_SCOPE = 21,      /* of threads that are out of scope or unknown */
	COUNTER_EVENTS_OUTSIDE_RECORDING = 22, /* from before or after the recording */
	COUNTER_BEGINS = 23,
	COUNTER_ENDS = 24,
	COUNTER_CONTEXTS = 25,
	COUNTER_CONTEXTS_UNKNOWN = 26,   /* contexts dropped because their thread is unknown */
	COUNTER_SPANS_PAIRED = 27,       /* with a begin and an end */
	COUNTER_SPANS_END_ONLY = 28,     /* with an end only: began before the recorder attached */
	COUNTER_SPANS_UNFINISHED = 29,   /* with a begin only: process or recording ended first */
	COUNTER_BEGINS_REPEATED = 30,    /* dropped because the span had already begun */
	COUNTER_BEGINS_DISCARDED = 31,   /* dropped because too many spans were open */
	COUNTER_ENDS_WITHOUT_BEGIN = 32, /* dropped because the start of the span is unknown */
	COUNTER_SPANS_IN_FUTURE = 33,    /* dropped because of a timestamp in the future */
	COUNTER_AGENT_GAPS = 34,         /* gaps in which a process wrote no events */
	COUNTER_EVENTS_TOO_OLD = 35, /* dropped because a process writes faster than we can read */

	/* records of a stream, which the counters above do not include */
	COUNTER_STREAM_ADDED = 36,   /* added to it: losses and epochs */
	COUNTER_STREAM_DROPPED = 37, /* dropped because its reader was too slow */

	/* computed by readers, never written */
	COUNTER_READ = 62,
	COUNTER_SPANS_READ = 63,
	COUNTER_COUNT = 64,
};

struct counters {
	uint64_t n[COUNTER_COUNT];
};

/* c is NULL if nothing is to be counted. */
static inline void counter_add(struct counters *c, enum counter which, uint64_t n)
{
	if (c)
		c->n[which] += n;
}

/* The name of a counter in JSON; NULL if it is unknown. */
const char *counter_name(unsigned int counter);

/* Why the counted records or events are missing from the capture; NULL if they are not. */
const char *counter_drop_reason(unsigned int counter);

/* Two sums that must be equal, and the words to describe them. */
struct counter_sums {
	const char *what, *in, *out;
	uint64_t before, after;
};

/*
 * Make the i-th comparison; returns false if there are fewer.  The comparisons with the numbers of
 * records and spans read are made only if `read` is true.
 */
bool counter_check(const struct counters *c, size_t i, bool read, struct counter_sums *ret);

/* Whether all comparisons hold. */
bool counters_agree(const struct counters *c, bool read);

#endif
