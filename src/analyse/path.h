/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path - the critical path: what a thread, a span or a request really waited for.
 *
 * A path is a tree of steps.  At the top are the steps of the thread itself, in time
 * order.  Below a wait that another thread ended are the steps of that thread during the
 * wait, and so on.  The leaves cover the whole time without gap or overlap: every
 * nanosecond has one thread, one state and one cause.
 */
#ifndef SONDE_ANALYSE_PATH_H
#define SONDE_ANALYSE_PATH_H

#include "base/vec.h"
#include "model/span_set.h"

/* A message from the step's thread in transit: no recorded thread works on it. */
#define STEP_TRANSIT 1
/* A part of a wait that no thread explains. */
#define STEP_UNEXPLAINED 2
/*
 * A request, or a reply to its call, has arrived and was not read yet; or a pool has not taken the
 * request: what the thread did meanwhile that read or took it later (queueing.h, request_parts.h).
 */
#define STEP_QUEUEING 4
/* After the reply, or a message that is waited for, was sent: it is in the send buffer. */
#define STEP_SENDING 8
/* Waits for the reply of a peer that was not recorded: that of `socket`. */
#define STEP_REMOTE 16
/* Waits until its thread has done something for `other_span`. */
#define STEP_BEHIND 32
/* Waits for a timer that was set for its span. */
#define STEP_OWN_TIMER 64
/* One of several waits, each ended by a timer: the thread looks for something in between. */
#define STEP_POLLING 128
/* With QUEUEING: in the queue of a pool, of which the thread took the request in the end. */
#define STEP_POOL 256
/* Its task is parked by a runtime that moves tasks between threads: for what is unknown. */
#define STEP_PARKED 512
/* Its lock was held by other threads before the one that released it. */
#define STEP_HELD_BEFORE 1024
/* Not an interval of the thread's timeline. */
#define STEP_DERIVED \
	(STEP_TRANSIT | STEP_UNEXPLAINED | STEP_SENDING | STEP_REMOTE | STEP_BEHIND | \
	 STEP_OWN_TIMER | STEP_PARKED | STEP_HELD_BEFORE)

struct step {
	nsec_t start, end;
	thread_id thread; /* none: only the span is known */
	thread_id ender;  /* of a wait: the thread that ended it, if paths follow that thread */
	span_id span;     /* the span that the step belongs to */
	uint32_t other;   /* number for model_span_ref(): span its thread works for instead; or 0 */
	span_id other_span; /* inferred span that its thread works for instead; or none */
	uint64_t socket;    /* REMOTE: the waiting side of the connection */
	uint32_t parent;    /* index + 1 of the wait that the step explains; 0 at the top */
	uint32_t depth;
	nsec_t begin;   /* start of the interval that the step is part of */
	nsec_t decider; /* the same of the wait that decides the cause, for model_cause() */
	uint16_t cpu;   /* running or ready */
	uint8_t state;
	uint16_t flags;
	uint8_t held; /* SENDING: enum held_reason */
	bool is_leaf;
	bool preempted; /* ready because it lost the CPU, not because it was woken */
};

struct path {
	VEC(struct step) steps; /* each wait before the steps that explain it */
};

void path_done(struct path *path);

/* Appends the path of a thread between two times. */
void path_of_thread(const struct model *model, thread_id thread, nsec_t from, nsec_t to,
		    struct path *path);

/*
 * Appends the path of a span with its descendants, from the arrival of its request on: along the
 * spans that were waited for (span_path.h), and within each along the threads that worked for it
 * (span_work.h) or delayed it (queueing.h).  If no thread of a span is known, the thread of its
 * parent is used.
 */
void path_of_span(const struct span_set *spans, span_id span, struct path *path);

#endif
