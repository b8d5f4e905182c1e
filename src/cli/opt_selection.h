/* SPDX-License-Identifier: Apache-2.0 */
/* opt_selection - options of commands that report requests: which ones. */
#ifndef SONDE_CLI_OPT_SELECTION_H
#define SONDE_CLI_OPT_SELECTION_H

#include "cli/opt.h"
#include "load/selection.h"

struct selection_opts {
	struct opt_list entries, services, operations;
	nsec_t from, to;
	const char *above;
};

/* Elements of an option table; `type` has a member `field` of type struct selection_opts. */
#define OPT_SELECTION_OF_ALL(type, field, from_help, to_help) \
	{ OPT_LIST, \
	  0, \
	  "entry", \
	  "PORT|ADDR", \
	  "only requests to this port or to or from this address", \
	  offsetof(type, field.entries) }, \
		{ OPT_LIST, \
		  0, \
		  "service", \
		  "NAME", \
		  "only requests to this service", \
		  offsetof(type, field.services) }, \
		{ OPT_LIST, \
		  0, \
		  "operation", \
		  "NAME", \
		  "only requests for this operation", \
		  offsetof(type, field.operations) }, \
		{ OPT_TIME, 0, "from", "TIME", from_help, offsetof(type, field.from) }, \
	{ \
		OPT_TIME, 0, "to", "TIME", to_help, offsetof(type, field.to) \
	}

/* The same, and --above, for commands that do not need the other requests. */
#define OPT_SELECTION(type, field, from_help, to_help) \
	OPT_SELECTION_OF_ALL(type, field, from_help, to_help), \
	{ \
		OPT_STRING, 0, "above", "TIME|pN", \
			"only requests that took at least this long, or percentile N of their " \
			"entry", \
			offsetof(type, field.above) \
	}

/* Fails if a value is malformed. */
int opt_selection(const struct selection_opts *opts, struct selection *ret, struct err *err);

#endif
