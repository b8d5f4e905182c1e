/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selection - which requests a command reports.
 *
 * Without a name, these are the requests of clients: the roots of traces.  With an entry, a service
 * or an operation, they are the topmost spans with that name, so that a service behind others
 * can be examined, too.  Commands with the same selection report the same requests, and
 * the same percentiles.
 *
 * Requests during which records were lost are left out if others remain: what is missing would
 * look like a cause.
 */
#ifndef SONDE_LOAD_SELECTION_H
#define SONDE_LOAD_SELECTION_H

#include "load/load.h"

struct name_list { /* borrowed */
	const char *const *items;
	size_t count;
};

struct selection {
	struct name_list entries; /* ports or addresses */
	struct name_list services, operations;
	nsec_t from, to;   /* time of arrival since the start of the capture; `to` 0: its end */
	const char *above; /* NULL, or a latency: "20ms"; or a percentile of the entry: "p95" */
	bool only_rebuilt;
	bool with_open; /* also requests without a reply */
};

typedef VEC(span_id) span_list;

struct selected {
	span_list spans; /* in the order of the span set */
	span_list lost;  /* requests that were left out because records were lost in them */
	size_t all;      /* number of both, before `above` */
};

void selected_done(struct selected *selected);

/* Fails if `above` is malformed. */
int selection_check(const struct selection *selection, struct err *err);

void selection_find(const struct loaded *loaded, const struct selection *selection,
		    struct selected *ret);

/* A number for each entry: the address of rebuilt requests, or the service and operation. */
uint64_t selection_entry(const struct span *span);

/* Whether any option restricts the requests. */
bool selection_is_restricted(const struct selection *selection);

#endif
