/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits - the waits on the critical path of a span, as a tree with a bounded number of nodes.
 *
 * Equal waits, one after another or alternating with one other kind, are one node: after each wait
 * for a disk, a thread also waits for a CPU.
 *
 * If system calls are recorded, each of them is a node at the top, too.  A thread that blocks in
 * such a call gets no other node for that: the wait is part of the node of the call, and what
 * explains the wait is below it, as are waits for a CPU during the call.
 */
#ifndef SONDE_ANNOTATE_WAITS_H
#define SONDE_ANNOTATE_WAITS_H

#include "analyse/path.h"
#include "annotate/calls.h"

struct wait {
	nsec_t start, end;   /* of the first and the last one */
	nsec_t time;         /* sum of their times */
	uint32_t count;      /* number of waits */
	uint32_t parent;     /* index + 1 of the wait that it explains; 0 at the top */
	struct step longest; /* the longest one, as an example; state 0: a call that did not wait */
	struct call call;    /* count 0: not a system call */
	nsec_t call_waits;   /* in a system call: time that its thread was blocked */
};

struct waits {
	VEC(struct wait) items; /* parents before their children, then by start */
	uint64_t omitted;       /* number of waits that were left out, of all counts */
	uint64_t calls_omitted; /* the same of system calls */
};

/*
 * The waits of a span itself, not of its child spans, between its start and end.  At most `limit`:
 * the longest ones, and with each wait the one that it explains.  Those that take less than a
 * thousandth of the span are left out, too, except for calls.  `calls`: of the span, or NULL.
 */
void waits_find(const struct span_set *spans, span_id span, const struct calls *calls, size_t limit,
		struct waits *ret);
void waits_done(struct waits *waits);

#endif
