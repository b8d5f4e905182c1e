/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show - results as a table for people, or as CSV or JSON for programs.
 *
 * Columns of a table are as wide as they must be.  Not all rows can be waited
 * for, so they are looked at a thousand at a time; a column may become wider
 * from one thousand to the next.  A very long value stands out to the right
 * rather than making all lines as long.
 */
#ifndef SONDE_QUERY_SHOW_H
#define SONDE_QUERY_SHOW_H

#include "base/out.h"
#include "query/query.h"

enum show_format { SHOW_TEXT, SHOW_CSV, SHOW_JSON };

struct show;

/* Safe is for a terminal: CSV has names of anybody's making, which text escapes in any case. */
struct show *show_new(struct out *out, enum show_format format, bool safe);
void show_free(struct show *show);
DEFINE_FREEP(show)

/* To be given to query_run(); borrowed. */
const struct query_sink *show_sink(const struct show *show);

#endif
