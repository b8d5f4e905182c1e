/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents - record the spans and thread contexts of the recorded processes.
 *
 * The tracker (tracker.h) follows the recorded processes from the records of the
 * kernel programs.  For each process this module obtains
 *
 *	the arena of its agent, if it has one: a ring reader (ring_reader.h) reads the
 *	events, and the span writer (span_writer.h) turns them into records.  An agent
 *	registers its arena (registrations.h), or a scan finds it (process_scan.h);
 *
 *	the location of its thread context (tls/locate.h), no matter which library
 *	publishes it.  The kernel programs then read the context of each thread.
 *
 * Processes that fork share an arena.  A process can write anything into its arena,
 * so the module accepts events only for recorded processes that have this arena, and
 * only for threads that provably belong to them.
 */
#ifndef SONDE_RECORD_SPANS_AGENTS_H
#define SONDE_RECORD_SPANS_AGENTS_H

#include "base/base.h"
#include "record/sink.h"
#include "event/counter.h"
#include "record/kernel/programs.h"
#include "record/spans/agent_scope.h"
#include "record/sort.h"

struct agents_config { /* all pointers are borrowed */
	struct programs *programs;
	struct agent_scope *scope; /* to bring processes that register into scope; or NULL */
	struct sorter *sorter;
	size_t stream; /* of the sorter, reserved for agents */
	struct sink *sink;
	nsec_t start; /* of the recording; earlier events are discarded */
	struct counters *counters;
	void (*warning)(void *arg, const char *text);
	void *arg;
};

struct agents;

struct agents *agents_new(const struct agents_config *config);
void agents_free(struct agents *agents);
DEFINE_FREEP(agents)

/* Pass in a record of the kernel programs. */
void agents_add_record(struct agents *agents, const struct record *record);

/*
 * Read all events.  Returns the fill level of the fullest ring, in 1/256 of its size.
 * Before the call, the caller has passed in all kernel records up to `known_until`.
 */
unsigned int agents_drain(struct agents *agents, nsec_t known_until);

/* The last drain; the recording ended at `end`. */
void agents_finish(struct agents *agents, nsec_t end);

/* All events up to this time have been read, except those of arenas that just registered. */
nsec_t agents_complete_until(const struct agents *agents);

/* Whether a process in scope still waits for its first scan, so that its spans are missed. */
bool agents_has_unscanned(const struct agents *agents);

/* The command starts now: the spans of an arena found later are incomplete. */
void agents_start(struct agents *agents);

/* A new epoch of a stream began: renew the strings that later records will contain. */
void agents_renew_strings(struct agents *agents);

/* The number of processes that are recorded now. */
size_t agents_count_processes(const struct agents *agents);

/* Whether any arena is attached or registered. */
bool agents_has_any(const struct agents *agents);

#endif
