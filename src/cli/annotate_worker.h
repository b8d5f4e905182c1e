/* SPDX-License-Identifier: Apache-2.0 */
/*
 * annotate_worker - the worker of `sonde annotate`, started again if it ends.
 *
 * The worker (annotate/worker.h) is a child of the relay.  The keeper, which starts its recorder,
 * is shared: a new worker asks the same keeper for a new recorder.
 */
#ifndef SONDE_CLI_ANNOTATE_WORKER_H
#define SONDE_CLI_ANNOTATE_WORKER_H

#include <sys/types.h>

#include "annotate/worker.h"
#include "live/live.h"
#include "relay/channel.h"
#include "relay/endpoint.h"

struct keeper;

struct worker_process {
	struct keeper *keeper; /* borrowed */
	struct live_options options;
	struct annotate_worker_options worker;
	pid_t pid;               /* 0: it does not run */
	struct channel *channel; /* to it; NULL if it does not run */
	nsec_t start_at;         /* when to start the next one, CLOCK_MONOTONIC */
	nsec_t pause;            /* before that */
	unsigned int restarts;
};

/*
 * The requests of the relay itself are not exported, or they would never end.  A collector on
 * another host is not recorded; a port of its own is not worth missing a local web server.
 */
void worker_process_skip(struct worker_process *w, const struct endpoints *endpoints);

/* Forks it.  0, or a negative errno. */
int worker_process_start(struct worker_process *w, struct err *err);

/* After the channel has ended: reaps it, and plans the next start.  Returns its exit status. */
int worker_process_reap(struct worker_process *w);

/* Starts it again if that is due.  Returns whether it was started. */
bool worker_process_restart(struct worker_process *w);

/* Ends it. */
void worker_process_end(struct worker_process *w);

#endif
