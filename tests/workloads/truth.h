/* SPDX-License-Identifier: Apache-2.0 */
/*
 * truth - measurements of a workload about itself, printed as one JSON object.
 *
 * A live test needs expected values that are valid on a busy host, too.  So a
 * workload does not print how long it meant to wait, but measures right before and
 * right after each call:
 *
 *   time         CLOCK_MONOTONIC, the clock of the recording
 *   cpu          CLOCK_THREAD_CPUTIME_ID: how long the thread ran
 *   delay        /proc/thread-self/schedstat: how long it waited for a CPU
 *   voluntary    getrusage(): how often it blocked
 *   involuntary  getrusage(): how often it was preempted
 *
 * They are read repeatedly until no context switch happened in between, so they are
 * consistent.  Over a call, time - cpu - delay is how long the thread was blocked,
 * and voluntary is the exact number of waits in a recording, under any load.  The
 * delay is unreliable only if the thread migrated to another CPU: the scheduler
 * (since 6.12) can keep a sleeper in its queue for a while, and a sleeper that
 * migrates there counts as waiting for a CPU.
 *
 * A track is a series of such calls of one kind by one thread.  Tracks are in shared
 * memory, so that the first process can print those of all others.
 *
 * With TRUTH_GATE in the environment, truth_gate() prints "ready" on stdout and
 * waits for a line or the end of stdin: time to start a recorder.
 */
#ifndef SONDE_TESTS_TRUTH_H
#define SONDE_TESTS_TRUTH_H

#include <stdint.h>
#include <stdio.h>

struct track;

/* Initialise, before any other thread or process is started. */
void truth_init(const char *workload);
void truth_gate(void);

/* A new track of the calling thread. */
struct track *track_new(const char *role);
void call_begin(struct track *t);
void call_end(struct track *t);

/* Add another value; `fmt` yields JSON.  Only in the first process. */
__attribute__((format(printf, 2, 3))) void truth_add(const char *name, const char *fmt, ...);
void truth_add_list(const char *name, const int64_t *values, size_t count);

/* Print the object.  Call it last. */
void truth_print(void);

/* Common tools. */
uint64_t now(void); /* CLOCK_MONOTONIC */
void sleep_until(uint64_t time);
long must(long result,
	  const char *what); /* returns result; exits with a message if it is negative */
unsigned long number_arg(int argc, char **argv, int i, unsigned long otherwise);

#define MSEC 1000000ull

#endif
