/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record - a recording from begin to end.
 *
 * Attach, give up privileges, and then come by every few milliseconds to take
 * what the kernel programs have left, sort it, and write it down.  The
 * recording ends when the time is over, when the command that it was made for
 * ends, or when *stop becomes true, as a signal handler may have it.
 */
#ifndef SONDE_RECORD_RECORD_H
#define SONDE_RECORD_RECORD_H

#include <signal.h>

#include "base/base.h"
#include "base/err.h"

struct record_stats {
	nsec_t elapsed;
	uint64_t records, lost, late;
	uint64_t agent_lost; /* events lost in the agents of processes, by their own count */
	uint64_t bytes;      /* in the file */
};

#define RECORD_BUFFER_MAX (512u << 20)

struct record_options {
	const char *output;
	nsec_t duration; /* 0: no end */
	const uint64_t *pids;
	size_t pid_count;
	const uint64_t *ports;
	size_t port_count;
	const char *cgroup; /* or NULL */
	bool all;
	bool other_tasks;
	bool spans;           /* look for spans and contexts in processes */
	bool arguments;       /* store command lines whole, but for secrets (arguments.h) */
	const char *syscalls; /* NULL for none, "" for all, or names with commas between */
	bool block;
	const char *const *events; /* category:name */
	size_t event_count;
	nsec_t stacks; /* 0 for none */
	unsigned long profile_hz;
	uint64_t buffer;                 /* per CPU, up to RECORD_BUFFER_MAX; 0: as is good */
	char **command;                  /* to start and record, or NULL; ends with NULL */
	const char *command_line, *tool; /* for the capture */

	/* Told about once a second, and of things that the user should know. */
	void (*progress)(void *arg, const struct record_stats *state);
	void (*warning)(void *arg, const char *words);
	void *arg;
};

int record(const struct record_options *options, const volatile sig_atomic_t *stop,
	   struct record_stats *ret, struct err *err);

#endif
