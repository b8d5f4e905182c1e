/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_rules - thresholds by service and operation, from a configuration file.
 *
 *	# SERVICE  OPERATION       THRESHOLD
 *	*          "GET /health"   none
 *	front      "GET /cart*"    20ms
 *	payment-?  *               p99
 *	*          *               5ms
 *
 * One rule per line; the first one that matches decides.  Services and operations are shell
 *patterns (fnmatch(3)); in quotes, single or double, they can contain blanks.  A `#` at the start
 *of a word begins a comment.  A threshold is a time, a percentile of the operation, `all` or
 *`none`.
 */
#ifndef SONDE_RELAY_SLOW_RULES_H
#define SONDE_RELAY_SLOW_RULES_H

#include "base/err.h"
#include "base/vec.h"
#include "base/view.h"

enum {
	SLOW_RULES_MAX = 1000,
	SLOW_NAME_MAX = 256, /* bytes of a pattern and of the part of a name that is compared */
};

enum slow_kind {
	SLOW_NONE,
	SLOW_ALL,
	SLOW_TIME,
	SLOW_PERCENTILE,
};

struct slow_limit {
	enum slow_kind kind;
	nsec_t time;
	unsigned int percentile; /* in thousandths of a percent */
};

struct slow_rule {
	char service[SLOW_NAME_MAX], operation[SLOW_NAME_MAX];
	struct slow_limit limit;
};

typedef VEC(struct slow_rule) slow_rules;

/* Parses a threshold: 0 or -EINVAL. */
int slow_limit_parse(const char *text, struct slow_limit *ret);

/* Parses a file; errors contain its name and the line.  The caller frees *ret by vec_done(). */
int slow_rules_parse(const char *name, struct view text, slow_rules *ret, struct err *err);

/* The first rule that matches; NULL if there is none. */
const struct slow_rule *slow_rules_find(const slow_rules *rules, struct view service,
					struct view operation);

#endif
