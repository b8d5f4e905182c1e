/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agents - spans and contexts of the processes that are recorded.
 *
 * Who is recorded is heard from the kernel programs (tracker.h).  Of each such
 * process we want two things: the arena of its agent (tap.h), if it has one,
 * whose events become records (scribe.h); and the place of its thread context,
 * whoever publishes it, which the kernel programs then read (tls_location.h).  An
 * arena comes by itself (offer.h), or is found by looking (look.h).
 *
 * An arena is shared by processes that were forked from one another.  Events are
 * taken of those that are recorded, and only of threads that are known to be
 * theirs: what an arena says, anybody may have written.
 */
#ifndef SONDE_RECORD_SPANS_AGENTS_H
#define SONDE_RECORD_SPANS_AGENTS_H

#include "base/base.h"
#include "event/capture.h"
#include "event/counter.h"
#include "record/kernel/programs.h"
#include "record/sort.h"

struct agents_config {
	struct programs *programs; /* borrowed, as the others */
	struct sorter *sorter;
	size_t stream; /* of the sorter, for them alone */
	struct capture_writer *writer;
	nsec_t start; /* what happened before is not recorded */
	struct counters *counters;
	void (*warning)(void *arg, const char *words);
	void *arg;
};

struct agents;

struct agents *agents_new(const struct agents_config *config);
void agents_free(struct agents *agents);
DEFINE_FREEP(agents)

/* A record comes from a kernel program. */
void agents_add_record(struct agents *agents, const struct record *record);

/*
 * Take all there is; how full the fullest ring was, in 1/256.  Everything that the
 * kernel programs told up to a time has been seen before this.
 */
unsigned int agents_drain(struct agents *agents, nsec_t known_until);

/* The same for the last time: the recording ended then. */
void agents_finish(struct agents *agents, nsec_t end);

/* Up to when all was taken; what is in arenas that were only just offered was not. */
nsec_t agents_complete_until(const struct agents *agents);

/* Whether a process in scope has not been looked at yet, so that its spans are missed. */
bool agents_has_unscanned(const struct agents *agents);

/* The command runs from now on: an agent that is found later has spans that are missing. */
void agents_start(struct agents *agents);

/* Whether there is anybody to take from. */
bool agents_has_any(const struct agents *agents);

#endif
