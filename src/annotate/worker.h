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

#include "live/live.h"
#include "relay/channel.h"

/* What the relay shows of the worker; the body of CHANNEL_STATUS. */
struct annotate_status {
	uint64_t slow, annotated, joined, unrecorded, too_many; /* struct annotator_counters */
	uint64_t late;                                          /* annotated after their deadline */
	uint64_t unsent; /* annotations that the relay did not read */
	uint64_t records, lost, restarts;
	nsec_t window, window_wanted, lag;
	uint64_t memory;
	nsec_t recorder_cpu, cpu;
	char problem[256]; /* why there are no records; "" if there are */
};

/* Runs until the relay ends its side of the channel: 0; or until the recorder cannot start. */
int annotate_worker_run(struct live *live, struct channel *channel, struct err *err);

#endif
