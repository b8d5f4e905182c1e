/* SPDX-License-Identifier: Apache-2.0 */
/*
 * annotate_status - what `sonde annotate` has done so far, for people and for Prometheus.
 *
 * The relay serves it on its HTTP port: as text (GET /), as JSON (GET /status) and as Prometheus
 * metrics (GET /metrics).  `sonde annotate --status` gets and prints the text, or with --json the
 * JSON.
 */
#ifndef SONDE_CLI_ANNOTATE_STATUS_H
#define SONDE_CLI_ANNOTATE_STATUS_H

#include "annotate/worker.h"
#include "relay/relay.h"

struct status_source {
	const struct relay *relay;
	const struct annotate_status *worker; /* newest of the worker */
	unsigned int worker_restarts;
	bool worker_runs;
	const char *collector; /* where spans go */
};

/* The caller frees these. */
char *status_text(const struct status_source *source);
char *status_json(const struct status_source *source);
char *status_metrics(const struct status_source *source);

/* Prints the status of the relay that listens for HTTP on this port of this host. */
int status_show(const char *address, bool json, struct err *err);

#endif
