/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show - results as an aligned table, CSV or JSON.
 *
 * The columns of a table are as wide as their values.  Rows are buffered and measured a
 * thousand at a time, so a column can become wider after each thousand.  A very long value
 * sticks out to the right instead of widening its column.
 */
#ifndef SONDE_QUERY_SHOW_H
#define SONDE_QUERY_SHOW_H

#include "base/out.h"
#include "query/query.h"

enum show_format { SHOW_TEXT, SHOW_CSV, SHOW_JSON };

struct show;

/* With safe, for terminals, CSV escapes control characters in names; text always does. */
struct show *show_new(struct out *out, enum show_format format, bool safe);
void show_free(struct show *show);
DEFINE_FREEP(show)

/* The sink for query_run(); borrowed. */
const struct query_sink *show_sink(const struct show *show);

#endif
