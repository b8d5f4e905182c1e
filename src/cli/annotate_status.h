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

#include <stdio.h>

#include "annotate/service_wakeups.h"
#include "annotate/worker.h"
#include "cli/annotate_scope.h"
#include "relay/relay.h"

struct status_source {
	const struct relay *relay;
	const struct annotate_status *worker; /* newest of the worker */
	unsigned int worker_restarts;
	bool worker_runs;
	const struct service_latency *services;
	size_t service_count;
	const char *collector; /* where spans go */
	const struct annotate_scope *scope;
	double budget; /* share of one CPU; 0: no limit */
};

/* What is recorded, for people: "full", or "without stacks: used 7.2 % of a CPU, budget 5 %". */
struct detail_text {
	char s[160];
};

struct detail_text status_detail(const struct annotate_status *worker, double budget);

/* The caller frees these. */
char *status_text(const struct status_source *source);
char *status_json(const struct status_source *source);
char *status_metrics(const struct status_source *source);

/* Writes a page of the relay that listens for HTTP on this port of this host. */
int relay_get_page(const char *address, const char *path, FILE *file, struct err *err);

/* Prints the status of the relay that listens for HTTP on this port of this host. */
int status_show(const char *address, bool json, struct err *err);

#endif
