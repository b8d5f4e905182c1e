/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observation - what one span did, as a value that outlives the model.
 *
 * Diagnosis compares observations: those of a baseline with those of a test.  An observation has
 * keys, which say what it can be compared with, and the states of the span's own thread.
 *
 * Keys.  The type of a trace is a digest of its workflow tree (analyse/workflow.h): service and
 * operation of each span, and its position.  Siblings are ordered by their start, and those that
 * overlap by their digest, so that the order in which concurrent calls happen to start makes no
 * difference.  The folded type counts equal siblings in a row as one, so that one more iteration of
 * a loop is not a new type.  The subtree is the same digest from the span downwards, and the name
 * that of its service and operation alone.  Digests are stable: they are the same in every run and
 * on every host.
 *
 * States.  A child span cuts the own time of its parent: n children that do not overlap leave n + 1
 * intervals, and overlapping children count as one.  A child that the parent does not wait for
 * (follows-from), or that begins after the end of the parent, cuts nothing.  An interval can be
 * empty; next to a child of another host, a short one is, as it can be the error of the clocks.
 *
 * Each interval is a sequence of runs, one per state of the thread that worked for the span
 * (analyse/section_parts.h), with waits for the same thing merged (analyse/episode.h).  Waits for a
 * CPU, throttling and interrupts do not depend on the program, so they are no letters: their time
 * is kept beside the runs, and the equal letters that meet when they are dropped are merged.  The
 * same holds for the time in which the thread worked for another span: this one waited for its
 * thread as it would for a CPU.  The critical path replaces a wait by the work of another thread;
 * it explains findings, and has no part in the letters.
 *
 * The total of an interval is the sum of its runs, ready, throttled, irq, queued and gap.
 *
 * Traces without observations are counted: those that the edge of the recording cuts or that have
 * an unfinished span; and those with a span whose parent is missing.  If most spans with the same
 * service and operation have a missing parent, then their parents are not recorded at all, such as
 * those of clients or of a proxy, and such a span is the root of a trace of its own.
 */
#ifndef SONDE_ANALYSE_OBSERVATION_H
#define SONDE_ANALYSE_OBSERVATION_H

#include "analyse/span_traits.h"
#include "base/vec.h"
#include "model/span_set.h"

struct state_run {
	nsec_t time;
	uint8_t letter; /* R D N T L I U ? */
};

/* The own time of a span before its first child, between two children, or after the last. */
struct own_interval {
	uint32_t run, run_count; /* first and number in the runs of the observation */
	nsec_t total;            /* all of it */
	nsec_t ready;            /* C: waiting for a CPU */
	nsec_t throttled;        /* Q */
	nsec_t irq;              /* X: in interrupts; not part of the run */
	nsec_t queued;           /* waiting for its thread, which worked for another span */
	nsec_t gap;              /* without records */
};

struct observation {
	uint64_t type, folded; /* of the trace */
	uint64_t position;     /* of the span in the ordered tree, counted from 0, parents first */
	uint64_t subtree, name;
	uint64_t identity; /* digest of trace and span id: a random number, the same in every run */
	uint8_t trace[16], id[8];
	span_id span, root;        /* valid as long as the model */
	str_id service, operation; /* valid as long as the span set */
	uint32_t depth;            /* 0 at the root */
	nsec_t start;              /* arrival of its request, if known */
	nsec_t duration;           /* from there to its end */
	nsec_t queueing;           /* of that, before a thread read the request */
	nsec_t own; /* of that, without children and queueing: sum of the intervals */
	nsec_t cpu; /* used by its own thread, without interrupts */
	uint64_t disk_bytes, network_bytes;
	/* otherwise, intervals have totals only: nothing is recorded of its threads, or an
	 * interval has more than 16,383 states */
	bool has_states;
	bool is_lost; /* records were lost meanwhile */
	VEC(struct own_interval) intervals;
	VEC(struct state_run) runs;
	span_trait_list traits;
};

/* Traces, and those without observations by reason. */
struct observation_counts {
	uint64_t traces;   /* with observations */
	uint64_t cut;      /* by the begin or end of the recording, or unfinished */
	uint64_t orphaned; /* with a missing parent */
};

/*
 * Called for each span of a workflow, children in order before their parents; the observation is
 * valid during the call.
 */
typedef void observation_fn(void *arg, const struct observation *observation);

/*
 * Reports all spans of complete traces.  Takes n log n time for n spans, and linear time for the
 * intervals of their threads.
 */
void observations_find(const struct span_set *spans, observation_fn *fn, void *arg,
		       struct observation_counts *ret);

/*
 * observer - the same for chosen trees, such as those of requests that have just ended.  A new
 * observer reads the threads of the model once, and nothing else.  It ends with the span set.
 *
 * A tree then costs time for its own records only; the bytes of its spans are not summed up.
 *
 * The span at the top counts as the root, so its type is its subtree, even if it has a parent.
 */
struct observer;
struct observer *observer_new(const struct span_set *spans); /* borrowed */
void observer_free(struct observer *observer);
DEFINE_FREEP(observer)

/*
 * Report all spans of a tree, or only the one at its top.  Both return false, and report nothing,
 * if the tree has more than `spans_max` spans, or is cut or unfinished.
 */
bool observer_tree(struct observer *observer, span_id top, size_t spans_max, observation_fn *fn,
		   void *arg);
bool observer_span(struct observer *observer, span_id top, size_t spans_max, observation_fn *fn,
		   void *arg);

#endif
