/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_internal - the state of a recording, shared by the parts of record.h.
 *
 *	record_begin	setup: scope, BPF programs, capture, dropping privileges
 *	record		the main loop, and finishing the capture
 */
#ifndef SONDE_RECORD_RECORD_INTERNAL_H
#define SONDE_RECORD_RECORD_INTERNAL_H

#include "base/vec.h"
#include "event/capture.h"
#include "record/spans/agents.h"
#include "record/child.h"
#include "record/priority.h"
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
	struct priority priority;
	nsec_t start, next_second, pause;
	nsec_t *busy;         /* --profile: busy time by CPU at the start, ns */
	unsigned int held_up; /* consecutive rounds with an uncommitted record */
};

/* Set up the recording; its command, if any, is forked but not executed yet. */
int recording_begin(struct recording *rec, struct err *err);

/* Free everything, also after a partial setup.  For use with _cleanup_. */
void recording_done(struct recording *rec);

static inline bool record_has_stacks(const struct record_options *o)
{
	return o->stacks || o->profile_hz;
}

#endif
