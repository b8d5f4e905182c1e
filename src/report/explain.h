/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain - accounts and paths, as text or JSON.
 *
 * The text of an account is a tree of where the time went, largest first.  Nodes below
 * 1 % of the whole are folded into one line per level.  It ends with the causes: leaves
 * of the tree as sentences, with their share of the time.
 */
#ifndef SONDE_REPORT_EXPLAIN_H
#define SONDE_REPORT_EXPLAIN_H

#include "analyse/account.h"
#include "base/json.h"

/* Returns whether a cause is a span without a known thread. */
bool explain_text(struct out *out, bool colour, const struct span_set *spans,
		  const struct account *account);
/* Advice about such spans, to write once after all accounts. */
void explain_text_missing_thread(struct out *out);
void explain_json(struct json *j, const struct span_set *spans, const struct account *account);

void path_text(struct out *out, bool colour, const struct span_set *spans, const struct path *path,
	       nsec_t origin);
void path_json(struct json *j, const struct span_set *spans, const struct path *path);

#endif
