/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workflow - the type of a trace: a digest of its tree of services and operations.
 *
 * Siblings are ordered by their start.  Concurrent siblings start in any order, so they are ordered
 * by their digests instead; otherwise, the same calls would have many types.  Digests are of names,
 * not of numbers that a model has given to them, so they are the same in every run and on every
 * host.  The operation of a rebuilt request is an address, which can change: it counts only with
 * its port, and not with a port that the kernel chose.
 *
 * A folded digest counts equal siblings in a row once: a loop has the same folded digest for any
 * number of iterations.
 */
#ifndef SONDE_ANALYSE_WORKFLOW_H
#define SONDE_ANALYSE_WORKFLOW_H

#include "base/map.h"
#include "base/vec.h"
#include "model/span_set.h"

struct workflow_node {
	span_id span;
	uint32_t first, count; /* its children: index of the first, and their number, in order */
	uint32_t size;         /* number of spans of its subtree */
	uint32_t depth;        /* 0 at the root */
	uint32_t position;     /* counted from 0, parents before their children */
	uint64_t name;         /* digest of service and operation */
	uint64_t subtree, folded;
	nsec_t start, end; /* of the span, from the arrival of its request on */
};

/* All zero at first; can be used for one trace after the other. */
struct workflow {
	VEC(struct workflow_node) nodes; /* the root first, parents before their children */
	VEC(uint32_t) order;             /* indexes of all, in order, children before parents */
	struct map names, addresses;     /* service and operation -> digest; of rebuilt requests */
	VEC(uint64_t) digests;           /* private */
	VEC(char) text;                  /* private */
};

void workflow_done(struct workflow *flow);

/*
 * Whether a span is a part of its trace's workflow.  A rebuilt handoff within an instrumented
 * service is none, unless it has children: the spans of the service are its operations, and whether
 * one of its threads wakes another one is a matter of timing.
 */
bool workflow_contains(const struct span_set *spans, const struct span *span);

/* The workflow of a tree.  Takes n log n time for n spans, whatever their depth. */
void workflow_find(struct workflow *flow, const struct span_set *spans, span_id root);

/*
 * Whether two siblings ran at the same time, the first of which starts no later than the second.
 * Spans come from several clocks and are rounded, so a small overlap is none.
 */
bool workflow_is_concurrent(nsec_t start, nsec_t end, nsec_t next_start, nsec_t next_end);

#endif
