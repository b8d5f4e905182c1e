/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account - where the time of a request went, as a human-readable tree.
 *
 * A path has a step for every change of state, often thousands.  An account merges the
 * steps of one level that have the same thread, state and cause into a node.  Each node has
 * the sum of its steps' time, and below each wait is what it waited for.  A node also has its
 * shares: which threads used the CPU during a wait for it, which processes had I/O in the
 * disk's queue, which functions ran.
 *
 * Below a wait, the threads of one process count as one.  If many threads queue for one
 * lock, each wakes the next, but only the holder keeps them all waiting.  So a wait for a
 * lock inside a wait for the same lock is omitted, and the holder is directly below the
 * first wait.
 *
 * Spans of the same service and operation on the path share one node, such as 153 queries one
 * after another.
 *
 * If the thread of a span works for another span, its steps are below a node for
 * that other span.  What the thread did before it read the request is below a node for the
 * queueing.
 */
#ifndef SONDE_ANALYSE_ACCOUNT_H
#define SONDE_ANALYSE_ACCOUNT_H

#include "analyse/path.h"
#include "base/vec.h"
#include "model/span_set.h"

/* A process, thread or function with a part in a node's time. */
struct share {
	str_id name;      /* of the process, thread or function */
	uint32_t pid;     /* 0 for a function */
	thread_id thread; /* set for another thread of the waiting process */
	nsec_t time;      /* ns; of a function, estimated from samples */
};

/* As many equal calls one after another are a pattern of their own; fewer may be needed. */
#define NODE_MANY_SPANS 10

struct node {
	nsec_t time;
	nsec_t irq;                   /* running: time of it in interrupts */
	uint32_t count;               /* number of steps */
	uint32_t span_count;          /* of a span: number of spans with its names on the path */
	uint32_t parent, child, next; /* indexes in the account; 0 is the root, and means none */

	span_id span;
	uint32_t other;     /* number for model_span_ref() of a span that got the time; or 0 */
	span_id last_other; /* inferred span that the thread worked for instead, in the last step */
	uint32_t others;    /* number of such spans; the longest step has its own in other_span */
	thread_id thread;   /* none: the root, or a span without a known thread */
	bool several;       /* whether several threads of its process are merged */
	bool several_processes; /* in a sum: whether several processes of its service are */
	uint8_t state;          /* 0: a span, another span or queueing, with its steps below */
	uint16_t flags;         /* STEP_... */
	bool is_leaf;
	struct step longest;       /* longest step, as an example */
	const struct cause *cause; /* of the longest step, borrowed from the model; or NULL */

	thread_id holder; /* wait for a lock: the thread that held it longest */
	nsec_t held;      /* time for which that thread held it */

	uint32_t shares, share_count; /* first and number in the account's list, largest first */
};

/* Resources used along the path. */
struct resources {
	nsec_t cpu;
	uint64_t blocked, preempted;              /* voluntary and involuntary context switches */
	uint64_t sent, sends, received, receives; /* bytes and operations on sockets */
	uint64_t disk_read, disk_reads, disk_written, disk_writes; /* bytes and operations */
	uint64_t calls;                                            /* system calls */
};

struct probe_event_count {
	uint32_t type;
	uint64_t count;
};

typedef VEC(struct probe_event_count) probe_event_counts;

struct account {
	nsec_t start, end;
	thread_id thread;       /* explained thread; none if it is a span */
	span_id span;           /* explained span; none if it is a thread */
	VEC(struct node) nodes; /* the first is the root; children are linked largest first */
	VEC(struct share) shares;
	struct resources used;
	probe_event_counts probe_events;
	nsec_t typed; /* time in states with a known cause */
	size_t steps; /* of the path of a span; what an account costs is linear in it */
	struct lost lost;
};

void account_done(struct account *account);

void account_of_thread(const struct model *model, thread_id thread, nsec_t from, nsec_t to,
		       struct account *ret);
void account_of_span(const struct span_set *spans, span_id span, struct account *ret);

/*
 * The same, with the same numbers of nodes, but without shares and resources: for sums over many
 * requests.
 */
void account_of_span_brief(const struct span_set *spans, span_id span, struct account *ret);

/* A time of a request that stands for `weight` requests, in a sum over a sample. */
static inline nsec_t account_weighted(nsec_t time, double weight)
{
	return weight == 1 ? time : (nsec_t)(time * weight + 0.5);
}

/* The cause of a step that is a wait; NULL if it is none, or the cause is unknown. */
const struct cause *account_step_cause(const struct model *model, const struct step *step);

#endif
