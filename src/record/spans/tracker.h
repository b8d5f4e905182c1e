/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch - which processes are recorded, and when to look into them.
 *
 * What a process publishes is found by looking into it, which takes some 100
 * microseconds.  A process that exists when recording begins, or when it comes into scope, is
 * looked at in the next round: it has its libraries, and spans before that look are missed.  A
 * program that was just executed is looked at soon, when its libraries are there; one in which
 * nothing is found is looked at again after ever longer pauses, as it may load them later.  A
 * forked child has what its parent had, and most children are gone soon: it is looked at late, if
 * ever. In each round of the recorder only so much time is spent on it.
 *
 * The processes are those that the kernel programs tell of.  One that has ended
 * is remembered for a second, as what it left behind is found later.
 */
#ifndef SONDE_RECORD_SPANS_TRACKER_H
#define SONDE_RECORD_SPANS_TRACKER_H

#include "base/base.h"
#include "event/event.h"
#include "record/spans/ring_reader.h"

struct process {
	uint32_t pid;
	uint32_t threads; /* that live */
	char comm[16];
	uint32_t image; /* counts programs executed, in all processes: tells this one from others */
	uint32_t parent, parent_image; /* what it was forked from; 0 if it executes another one */

	/* what was found; the caller's */
	struct ring_reader *reader; /* borrowed, or NULL */
	uint32_t space;             /* number of its pid namespace; 0 if not looked at */
	uint32_t service;           /* string: as its context has it; 0 if it has none */
	nsec_t placed;              /* since when its thread context is read; 0 if it is not */

	/* the watch's own */
	uint8_t looks;       /* which pause comes before the next one */
	uint32_t remembered; /* threads that live or did a while ago */
};

struct tracker_callbacks {
	/* Look into a process: 1 if all there can be was found, 0 if not, -ESRCH if it is gone. */
	int (*scan)(void *arg, struct process *process);
	/* A child was forked, and has what its parent had then. */
	void (*forked)(void *arg, struct process *child, const struct process *parent, nsec_t time);
	/* The program that it executed is no more: it exited or executed another one. */
	void (*ended)(void *arg, struct process *process, nsec_t time);
	void *arg;
};

struct tracker;

struct tracker *tracker_new(const struct tracker_callbacks *calls);
void tracker_free(struct tracker *tracker);
DEFINE_FREEP(tracker)

/*
 * A record comes from a kernel program, in the order of time; those that tell of
 * no process are passed over.
 */
void tracker_add_record(struct tracker *tracker, const struct record *record, nsec_t now);

/* Look into those whose time has come, and forget those that are long gone. */
void tracker_run(struct tracker *tracker, nsec_t now);

/* Whether a process that came into scope has not been looked at yet, though it existed before. */
bool tracker_has_unscanned(const struct tracker *tracker);

/* It turns out that it is not there any more, though nobody told its end. */
void tracker_mark_gone(struct tracker *tracker, struct process *process, nsec_t now);

/* A process that is recorded, or one of its threads; NULL if it is not. */
struct process *tracker_find(const struct tracker *tracker, uint32_t pid);
struct process *tracker_find_by_thread(const struct tracker *tracker, uint32_t tid);

/* What it was forked from, if that is remembered; NULL if it executed its program itself. */
struct process *tracker_find_parent(const struct tracker *tracker, const struct process *process);

/* The thread that is `inner` in a pid namespace other than the first; 0 if it is not recorded. */
uint32_t tracker_translate(const struct tracker *tracker, uint32_t space, uint32_t inner);

#endif
