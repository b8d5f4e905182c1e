/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth - what a workload knows about itself, told as one JSON object.
 *
 * A live test needs a truth that holds on a busy machine too.  So a workload
 * does not say how long it meant to wait, but looks at its own witnesses right
 * before and right after each call:
 *
 *   time         CLOCK_MONOTONIC, the clock of the recording
 *   cpu          CLOCK_THREAD_CPUTIME_ID: how long the thread ran
 *   delay        /proc/thread-self/schedstat: how long it waited for a CPU
 *   voluntary    getrusage(): how often it blocked
 *   involuntary  getrusage(): how often it was preempted
 *
 * They are read as one: again and again until no switch came in between.
 * So over a call, time - cpu - delay is how long the thread was blocked, and
 * voluntary is how many waits a recording of it has to show, exactly, however
 * often others got in the way.  Only where a thread has moved to another CPU is
 * the delay doubtful: the scheduler (since 6.12) may keep a sleeper in its queue
 * for a while, and a sleeper that is moved there counts as waiting for a CPU.
 *
 * A track is a series of such calls of one kind by one thread.  Tracks lie in
 * shared memory, so that the first process can print those of all others.
 *
 * With TRUTH_GATE in the environment, truth_gate() says "ready" on stdout and
 * goes on when stdin gives a line or ends: time to start a recorder.
 */
#ifndef SONDE_TESTS_TRUTH_H
#define SONDE_TESTS_TRUTH_H

#include <stdint.h>
#include <stdio.h>

struct track;

/* Set up, before any other thread or process is made. */
void truth_init(const char *workload);
void truth_gate(void);

/* A new track of the calling thread. */
struct track *track_new(const char *role);
void call_begin(struct track *t);
void call_end(struct track *t);

/* Anything else worth telling; `fmt` gives a JSON value. Only in the first process. */
__attribute__((format(printf, 2, 3))) void truth_tell(const char *name, const char *fmt, ...);
void truth_tell_list(const char *name, const int64_t *values, size_t count);

/* Print it all. The last thing a workload does. */
void truth_print(void);

/* Common tools. */
uint64_t now(void); /* CLOCK_MONOTONIC */
void sleep_until(uint64_t time);
long must(long result, const char *what); /* result, or the end with a word on stderr */
unsigned long number_arg(int argc, char **argv, int i, unsigned long otherwise);

#define MSEC 1000000ull

#endif
