/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder_internal - the state of a recording, shared by the parts of recorder.h.
 *
 *	recorder_begin	setup: scope, BPF programs, sink, dropping privileges
 *	recorder_scope	the processes that have an agent
 *	recorder	the rounds, and finishing the recording
 */
#ifndef SONDE_RECORD_RECORDER_INTERNAL_H
#define SONDE_RECORD_RECORDER_INTERNAL_H

#include "base/vec.h"
#include "record/spans/agents.h"
#include "record/child.h"
#include "record/priority.h"
#include "record/kernel/probe.h"
#include "record/kernel/programs.h"
#include "record/recorder.h"
#include "record/kernel/ring.h"
#include "record/scope.h"
#include "record/sort.h"
#include "record/symbol/symbol.h"
#include "record/encoder.h"

struct recorder {
	const struct record_options *options; /* borrowed */
	struct child child;
	struct scope scope;
	VEC(struct probe) probes;
	struct programs *programs;
	struct rings *rings;
	struct sorter *sorter;
	struct symbols *symbols;
	struct sink *sink; /* borrowed */
	struct encoder *encoder;
	struct agent_scope *agent_scope; /* or NULL */
	struct agents *agents;           /* or NULL */
	struct counters counters;
	struct priority priority;
	nsec_t start, end, next_second, pause;
	bool stopped;         /* by VERB_STOP */
	bool epoch_pending;   /* its record is in the sorter */
	nsec_t next_epoch;    /* start of the next one */
	nsec_t *busy;         /* --profile: busy time by CPU at the start, ns */
	nsec_t busy_since;    /* when these times were read */
	unsigned int held_up; /* consecutive rounds with an uncommitted record */
};

/* Set up the recording; its command, if any, is forked but not executed yet. */
int recorder_begin(struct recorder *rec, struct err *err);

/* recorder_scope.c: the processes that have an agent. */
struct agent_scope *recorder_agent_scope(struct recorder *rec);

int recorder_write_probe_types(struct recorder *rec, nsec_t now, struct err *err);

/* Begin an epoch of a stream. */
void recorder_begin_epoch(struct recorder *rec, nsec_t now);

/* Show a warning to the user, and to the reader of a stream. */
void recorder_warn(struct recorder *rec, const char *text);

/* recorder_warn() as a callback. */
void recorder_warning(void *recorder, const char *text);

static inline bool record_has_stacks(const struct record_options *o)
{
	return o->stacks || o->profile_hz || o->on_demand;
}

#endif
