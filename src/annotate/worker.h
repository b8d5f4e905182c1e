/* SPDX-License-Identifier: Apache-2.0 */
/*
 * annotate_worker - the annotating process of `sonde annotate`.
 *
 * It reads the stream of the recorder into a window, and slow spans from the relay, and replies
 * with annotations (relay/channel.h).  It has no privileges and no network.  If it ends, the relay
 * goes on without annotations and starts another one.
 */
#ifndef SONDE_ANNOTATE_WORKER_H
#define SONDE_ANNOTATE_WORKER_H

#include "annotate/deviations.h"
#include "annotate/governor.h"
#include "annotate/syscall_switch.h"
#include "live/live.h"
#include "relay/channel.h"

/* What the relay shows of the worker; the body of CHANNEL_STATUS. */
struct annotate_status {
	uint64_t slow, annotated, joined, unrecorded, too_many; /* struct annotator_counters */
	uint64_t late;                                          /* annotated after their deadline */
	uint64_t unsent;            /* annotations that the relay did not read */
	uint64_t paths, paths_shed; /* critical paths of roots; without one, as too many waited */
	uint64_t requests, requests_placed, requests_shed; /* struct inferred_spans_counters */
	struct deviations_counters deviations;             /* all 0 without a baseline */
	uint64_t records, lost, restarts;
	nsec_t window, window_wanted, lag;
	uint64_t memory;
	nsec_t recorder_cpu, cpu;
	bool has_scope;         /* the next two are known */
	uint64_t processes;     /* recorded now */
	uint64_t scope_refused; /* processes that were not recorded, because of limits */
	struct switch_state syscalls;
	uint64_t services_omitted; /* processes without wake-up latency: too many services */
	char warning[256];         /* newest of the recorder, or "" */
	char problem[256];         /* why there are no records; "" if there are */
	uint32_t detail_level;
	bool sheds[DETAIL_COUNT]; /* details that are recorded at full level, and not now */
	double cpu_share;         /* of one CPU, that all parts use */
};

struct annotate_worker_options {
	enum switch_mode syscalls;
	bool requests;          /* export those of services without an SDK (inferred_spans.h) */
	uint16_t skip_ports[3]; /* of the collector, by signal; 0: none */
	/* what is usual, to compare spans with; borrowed; NULL: not compared */
	const struct baseline *baseline;
	const struct profiles *profiles;
};

/* What the worker needs of the relay for the governor; the body of CHANNEL_BUDGET. */
struct annotate_budget {
	double budget; /* share of one CPU; 0: no limit */
	struct cpu_usage relay;
	nsec_t stacks;    /* shortest wait to record a stack for; 0: no stacks */
	bool other_tasks; /* there are tasks out of scope */
};

/* Runs until the relay ends its side of the channel: 0; or until the recorder cannot start. */
int annotate_worker_run(struct live *live, struct channel *channel,
			const struct annotate_worker_options *options, struct err *err);

#endif
