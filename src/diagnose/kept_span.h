/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_span - an observation that a baseline keeps: a sample.
 *
 * A baseline must hold any number of requests in bounded memory, and learning two recordings one
 * after the other must give the same baseline as learning both at once.  So each key keeps the
 * KEPT_MAX observations with the smallest identities.  An identity is a digest of the ids of a
 * span: a random number that is the same in every run.  The smallest ones of a union are among
 * the smallest ones of its parts, so samples can be merged in any order.
 */
#ifndef SONDE_DIAGNOSE_KEPT_SPAN_H
#define SONDE_DIAGNOSE_KEPT_SPAN_H

#include "analyse/observation.h"
#include "base/arena.h"
#include "base/strtab.h"

/* Observations of a key that are kept: at 1 % false flags, 40 of them decide the limit. */
enum { KEPT_MAX = 4096 };

/* What an observation is compared with, from most to least specific. */
enum key_kind {
	KEY_POSITION,  /* type of the trace, and position in it */
	KEY_SUBTREE,   /* service and operation of the span and of all below it */
	KEY_OPERATION, /* service and operation */
	KEY_KINDS
};

struct kept_span {
	uint64_t identity;
	uint64_t recording; /* digest of the recording that it comes from */
	uint32_t quarter;   /* of that recording, 0 to 3: in which it began */
	uint64_t keys[KEY_KINDS];
	uint64_t type, position;   /* of KEY_POSITION */
	str_id service, operation; /* in the strings of the baseline */
	nsec_t duration, queueing, own, cpu;
	uint64_t disk_bytes, network_bytes;
	bool has_states;
	uint32_t interval_count, run_count, trait_count;
	const struct own_interval *intervals;
	const struct state_run *runs;
	const struct span_trait *traits;
};

/*
 * Both borrow the intervals, runs and traits of the observation.  Without names, it can be
 * compared, and names that only tests have take no memory.
 */
struct kept_span kept_span_without_names(const struct observation *o);
struct kept_span kept_span_of(const struct observation *o, const struct span_set *spans,
			      struct strtab *strings);

/* Copies the intervals, runs and traits into an arena. */
void kept_span_move(struct kept_span *span, struct arena *arena);

/* The key of a type and a position in it. */
uint64_t position_key(uint64_t type, uint64_t position);

#endif
