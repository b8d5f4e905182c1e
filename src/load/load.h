/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load - from inputs to a model with its spans and requests.
 *
 *	_cleanup_(loaded_done) struct loaded loaded = { 0 };
 *	int damaged = loaded_open(&loaded, paths, NULL, &err);
 *	if (loaded.model)
 *		loaded_rebuild_requests(&loaded, false);
 *
 * The commands, and any program that serves or watches traces, start here.  Nothing in load/
 * prints: warnings collect in `warnings`, and the caller shows them.
 */
#ifndef SONDE_LOAD_LOAD_H
#define SONDE_LOAD_LOAD_H

#include "analyse/requests/requests.h"
#include "base/err.h"
#include "base/warnings.h"
#include "model/model.h"
#include "model/span_set.h"
#include "read/merge.h"

struct loaded {
	struct model *model;      /* NULL if an input could not be opened */
	struct merge *merge;      /* hosts and clocks of the inputs */
	struct requests requests; /* empty before loaded_rebuild_requests() */
	struct span_set spans;    /* recorded spans, and those of `requests` */
	struct warnings warnings;
};

/*
 * Read all inputs (NULL-terminated), in their own format, or in `format` if it is not NULL.  If an
 * input is damaged, the model holds the records before the damage, and the result is -EBADMSG.
 */
int loaded_open(struct loaded *loaded, char **inputs, const char *format, struct err *err);
void loaded_done(struct loaded *loaded);

/*
 * Rebuild requests as spans.  If the inputs have spans, the requests that these serve are joined
 * with them (analyse/span_join.h); with `always`, rebuilt requests stand beside the spans instead.
 */
void loaded_rebuild_requests(struct loaded *loaded, bool always);

/* The name of a host, "" if unknown, as a callback of reports; `merge` is a struct merge. */
const char *load_host_name(const void *merge, uint16_t host);

#endif
