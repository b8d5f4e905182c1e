/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record - make a recording.
 *
 * Attach the BPF programs, drop privileges, then poll every few milliseconds:
 * drain the rings, sort the records, write them to the capture.  The recording
 * ends after its duration, when its command exits, or when *stop becomes true,
 * for example in a signal handler.  recorder.h has the same in steps.
 */
#ifndef SONDE_RECORD_RECORD_H
#define SONDE_RECORD_RECORD_H

#include <signal.h>

#include "base/base.h"
#include "base/err.h"
#include "event/recorder_stats.h"

#define RECORD_BUFFER_MAX (512u << 20)

struct record_options {
	uint32_t reader;    /* pid of the reader of a stream, which is out of scope; 0: none */
	const char *output; /* path of the capture; "-" for a stream to stdout */
	const volatile sig_atomic_t *stop; /* or NULL */
	nsec_t epoch;                      /* of a stream: length of an epoch; 0: default */
	/*
	 * How long records wait for earlier ones, and the longest pause between two drains; 0: long
	 * enough for nearly all.  A short one suits a reader that needs records soon: records of a
	 * thread stay in order, those of different threads can be out of order by a few ms.
	 */
	nsec_t sort_window;
	nsec_t duration; /* 0: unlimited */
	const uint64_t *pids;
	size_t pid_count;
	const uint64_t *ports;
	size_t port_count;
	const char *cgroup; /* or NULL */
	bool all;
	bool agents; /* processes that have an agent, with their descendants; needs `spans` */
	bool other_tasks;
	bool spans;     /* attach to agents and contexts in processes */
	bool arguments; /* store command lines with secrets masked (arguments.h) */
	/*
	 * Comma-separated names; NULL for none, "" for all.  With on_demand, the calls that verbs
	 * switch on; NULL for all.
	 */
	const char *syscalls;
	bool block;
	const char *const *events; /* category:name */
	size_t event_count;
	bool on_demand; /* of a stream: verbs can switch stacks and system calls on (verb.h) */
	nsec_t stacks;  /* shortest wait to record a stack for; 0: no stacks */
	unsigned long profile_hz;
	bool profile_optional;           /* without perf events, warn and record the rest */
	uint64_t buffer;                 /* bytes per CPU, up to RECORD_BUFFER_MAX; 0: default */
	char **command;                  /* NULL-terminated argv to start and record, or NULL */
	const char *command_line, *tool; /* for the capture header */

	/* Called about once a second, and for each warning to show to the user; or NULL. */
	void (*progress)(void *arg, const struct recorder_stats *state);
	void (*warning)(void *arg, const char *text);
	void *arg;
};

int record(const struct record_options *options, struct recorder_stats *ret, struct err *err);

#endif
