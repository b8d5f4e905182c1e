/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account - where the time of a request went, as a tree that a person can read.
 *
 * A path has a step for every change of state, often thousands.  An account
 * puts together the steps of one level that say the same: the same thread in
 * the same state for the same reason.  Each node has the time of its steps, and
 * under a wait stand those who were waited for.  What others had to do with it
 * is added to the node: who had the CPU meanwhile, what else was in the disk's
 * queue, which functions ran.
 *
 * Of those who were waited for, the threads of one process count as one.  And
 * where many threads queue for one lock, each wakes the next, though only the
 * one that holds it keeps them all waiting: so a wait for a lock inside a wait
 * for the same lock is left out, and its holder comes right under the first.
 *
 * Where the thread of a span works for another one, what it does then stands
 * under a node that names that other span.
 */
#ifndef SONDE_ANALYSE_ACCOUNT_H
#define SONDE_ANALYSE_ACCOUNT_H

#include "analyse/path.h"
#include "base/vec.h"
#include "model/span_set.h"

/* One of those who had a part in a node's time. */
struct share {
	str_id name;      /* of a process, a thread or a function */
	uint32_t pid;     /* 0 for a function */
	thread_id thread; /* if it is another thread of the process that waits */
	nsec_t time;      /* of a function: its part of the running time, by samples */
};

struct node {
	nsec_t time;
	nsec_t irq;                   /* running: of it, in interrupts */
	uint32_t count;               /* of steps */
	uint32_t parent, child, next; /* places in the account; 0 is the root, and means none */

	span_id span;
	uint32_t other;   /* a node of time that went to this span, as model_span_ref() has it */
	thread_id thread; /* nobody: a span of which no thread is known, or the root */
	bool several;     /* threads of that one's process */
	uint8_t state;    /* 0: a span, or time of another, with what happened in it below */
	uint8_t flags;    /* STEP_... */
	bool is_leaf;
	struct step longest;       /* of its steps, for showing one */
	const struct cause *cause; /* of that one, borrowed from the model; or NULL */

	thread_id holder; /* of a lock that was waited for: who had it for most of the time */
	nsec_t held;      /* and for how long */

	uint32_t shares, share_count; /* in the account's list, largest first */
};

/* What was used along the path. */
struct resources {
	nsec_t cpu;
	uint64_t blocked, preempted;              /* context switches by their kind */
	uint64_t sent, sends, received, receives; /* bytes and operations on sockets */
	uint64_t disk_read, disk_reads, disk_written, disk_writes; /* bytes and requests */
	uint64_t calls;                                            /* system calls */
};

struct probe_event_count {
	uint32_t type;
	uint64_t count;
};

typedef VEC(struct probe_event_count) probe_event_counts;

struct account {
	nsec_t start, end;
	thread_id thread; /* whose time it is, or */
	span_id span;
	VEC(struct node) nodes; /* the first is the root; children stand largest first */
	VEC(struct share) shares;
	struct resources used;
	probe_event_counts probe_events;
	nsec_t typed; /* of the time, what has a state with a known cause */
	struct lost lost;
};

void account_done(struct account *account);

void account_of_thread(const struct model *model, thread_id thread, nsec_t from, nsec_t to,
		       struct account *ret);
void account_of_span(const struct span_set *spans, span_id span, struct account *ret);

/*
 * The nodes without others below them, largest first: each with those above it
 * is a cause.  Returns how many there are; fills at most max.
 */
size_t account_causes(const struct account *account, uint32_t *ret_nodes, size_t max);

/* Why a step was a wait; NULL if it was none, or nothing is known. */
const struct cause *account_step_cause(const struct model *model, const struct step *step);

/* How long spans of this service and operation usually take; count is 0 if it is the only one. */
struct usual {
	size_t count;
	nsec_t p50, p95;
};
struct usual account_usual(const struct span_set *spans, span_id span);

#endif
