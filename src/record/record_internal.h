/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_parts - what the parts of record.h share among themselves.
 *
 *	record_begin	from nothing to everything attached, and privileges given up
 *	record		agents, the command, and from there to a capture that is closed
 */
#ifndef SONDE_RECORD_RECORD_INTERNAL_H
#define SONDE_RECORD_RECORD_INTERNAL_H

#include "base/vec.h"
#include "event/capture.h"
#include "record/spans/agents.h"
#include "record/child.h"
#include "record/kernel/probe.h"
#include "record/kernel/programs.h"
#include "record/record.h"
#include "record/kernel/ring.h"
#include "record/scope.h"
#include "record/sort.h"
#include "record/symbol/symbol.h"
#include "record/encoder.h"

struct recording {
	const struct record_options *options; /* borrowed */
	struct child child;
	struct scope scope;
	VEC(struct probe) probes;
	struct programs *programs;
	struct rings *rings;
	struct sorter *sorter;
	struct symbols *symbols;
	struct capture_writer *writer;
	struct encoder *encoder;
	struct agents *agents; /* or NULL */
	struct counters counters;
	nsec_t start, next_second, pause;
	nsec_t *busy;         /* by CPU, at the start; of a profile */
	unsigned int held_up; /* rounds in which a record stayed uncommitted */
};

/* A recording of these options begins; its command, if it has one, is held. */
int recording_begin(struct recording *rec, struct err *err);

/* Drops all of it, however far it came. For use with _cleanup_. */
void recording_done(struct recording *rec);

static inline bool record_has_stacks(const struct record_options *o)
{
	return o->stacks || o->profile_hz;
}

#endif
