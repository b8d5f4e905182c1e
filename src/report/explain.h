/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain - an account as a text to read, or as JSON; and a path likewise.
 *
 * The text is a tree of where the time went, largest first.  Nodes below a
 * hundredth of the whole are folded into one line per level.  It ends in the
 * causes: sentences that name who did what, with their share.
 */
#ifndef SONDE_REPORT_EXPLAIN_H
#define SONDE_REPORT_EXPLAIN_H

#include "analyse/account.h"
#include "base/json.h"

/* Whether it names a span as a cause of which no thread is known: see below. */
bool explain_text(struct out *out, bool colour, const struct span_set *spans,
		  const struct account *account);
/* The sentence about such spans, once behind all. */
void explain_text_missing_thread(struct out *out);
void explain_json(struct json *j, const struct span_set *spans, const struct account *account);

void path_text(struct out *out, bool colour, const struct span_set *spans, const struct path *path,
	       nsec_t origin);
void path_json(struct json *j, const struct span_set *spans, const struct path *path);

#endif
