/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_detail - what a span did, from its attributes: a statement, a route, a method, a queue.
 *
 * Operations of SDK spans are often as general as "SELECT" or "GET".  The attribute that names the
 * work is one short line, for the tree of an explanation.
 */
#ifndef SONDE_REPORT_SPAN_DETAIL_H
#define SONDE_REPORT_SPAN_DETAIL_H

#include "model/span_set.h"

struct span_detail {
	char s[96];
};

/* "  SELECT name FROM users", or "" if the span has none or its operation contains it. */
struct span_detail span_detail(const struct span_set *spans, span_id id);

#endif
