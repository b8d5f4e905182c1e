/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscall_switch - when the recorder records system calls, and of which processes.
 *
 * Recording each call costs the recorded process time in each call.  So it is off, on for all
 * processes in scope, or on for the processes that need it: those whose threads worked for an
 * operation (a service and the name of a span) that is slow now.  An operation is slow after
 * SWITCH_SLOW slow spans within SWITCH_TIME, and until SWITCH_TIME after the last one.
 *
 *	syscall_switch_slow(s, spans, span, now);	for each slow span
 *	syscall_switch_run(s, live, now);		often; sends verbs (record/verb.h)
 *
 * A new recorder records no calls: then all verbs are sent again.  Operations and processes are
 * bounded; more are not switched on, and counted.
 */
#ifndef SONDE_ANNOTATE_SYSCALL_SWITCH_H
#define SONDE_ANNOTATE_SYSCALL_SWITCH_H

#include "live/live.h"
#include "model/span_set.h"

enum switch_mode { SWITCH_NEVER, SWITCH_ALWAYS, SWITCH_WHEN_SLOW };

enum {
	SWITCH_SLOW = 3,        /* slow spans of an operation */
	SWITCH_PROCESSES = 64,  /* at once; the recorder has room for as many */
	SWITCH_OPERATIONS = 256 /* with a slow span within SWITCH_TIME */
};

#define SWITCH_TIME (10 * NSEC_PER_SEC)

struct syscall_switch;

struct syscall_switch *syscall_switch_new(enum switch_mode mode);
void syscall_switch_free(struct syscall_switch *s);
DEFINE_FREEP(syscall_switch)

/* A slow span was annotated; `now`: CLOCK_MONOTONIC. */
void syscall_switch_slow(struct syscall_switch *s, const struct span_set *spans, span_id span,
			 nsec_t now);

/* Sends what has changed to the recorder; what it does not read now, the next call sends again. */
void syscall_switch_run(struct syscall_switch *s, struct live *live, nsec_t now);

/* Switches everything off until it is allowed again, whatever is slow. */
void syscall_switch_forbid(struct syscall_switch *s, bool is_forbidden);

/* What is on in the recorder. */
struct switch_state {
	uint32_t pids[SWITCH_PROCESSES];
	uint32_t pid_count;
	uint32_t is_all;   /* the calls of all processes in scope are recorded */
	uint64_t switched; /* number of times that a process was switched on */
	uint64_t not_fit;  /* slow spans whose operation or process had no room */
};

void syscall_switch_get_state(const struct syscall_switch *s, struct switch_state *ret);

#endif
