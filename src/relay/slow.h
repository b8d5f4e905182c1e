/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow - which spans are slow: those above a time, or above a percentile of their operation.
 *
 *	struct slow *slow;
 *
 *	r = slow_new("p95", &slow, err);
 *	r = slow_load(slow, "/etc/sonde/slow", err);
 *	if (slow_exceeded(slow, service, operation, end - start, &limit))
 *		...
 *
 * A span has the threshold of the first rule that matches its service and operation
 * (relay/slow_rules.h), or else the default.  Rules are matched once per operation: a table of
 *fixed size contains the result for recent ones.  A percentile is used once its operation had
 *enough spans (base/quantile.h); until then, no span of that operation is slow.
 *
 * Names come from hostile senders.  Memory is bounded, whatever the names are: 64 KiB for the table
 * of recent operations, 8 MiB for each percentile that the rules contain, of which there are at
 *most SLOW_PERCENTILES_MAX.  A new name takes time in proportion to the number of rules.
 */
#ifndef SONDE_RELAY_SLOW_H
#define SONDE_RELAY_SLOW_H

#include "base/err.h"
#include "base/view.h"

enum { SLOW_PERCENTILES_MAX = 16 }; /* different ones, with the default */

struct slow;

/* The default: a time such as 5ms, a percentile such as p95, `all` or `none`. */
int slow_new(const char *standard, struct slow **ret, struct err *err);
void slow_free(struct slow *slow);
DEFINE_FREEP(slow)

/*
 * Replaces the default, or the rules by those of a file or of its text.  If anything is invalid,
 * all stays as it was. Percentiles that were in use before keep what they have learned.
 */
struct slow_change {
	const char *standard; /* the default, as for slow_new(); NULL: as before */
	const char *name;     /* of a file with rules, for messages; NULL: the rules stay */
	struct view rules;    /* its text */
};

int slow_change(struct slow *slow, const struct slow_change *change, struct err *err);
int slow_load(struct slow *slow, const char *path, struct err *err);
int slow_set_rules(struct slow *slow, const char *name, struct view text, struct err *err);

/* *ret_limit is what the duration was compared with; 0 if there is no limit, or none yet. */
bool slow_exceeded(struct slow *slow, struct view service, struct view operation, nsec_t duration,
		   nsec_t *ret_limit);

#endif
