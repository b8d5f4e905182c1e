/* SPDX-License-Identifier: Apache-2.0 */
/* top_order - which operations `sonde top` lists, in which order, and where their time went. */
#ifndef SONDE_REPORT_TOP_ORDER_H
#define SONDE_REPORT_TOP_ORDER_H

#include "base/vec.h"
#include "report/top_view.h"

/* In the order in which the key `s` goes through them, and of the columns. */
enum top_sort {
	TOP_SORT_TIME, /* sum of the latencies: what costs most */
	TOP_SORT_RATE,
	TOP_SORT_OPEN, /* requests without a reply yet */
	TOP_SORT_P50,
	TOP_SORT_P95,
	TOP_SORT_P99,
	TOP_SORTS,
};

const char *top_sort_name(enum top_sort sort);

typedef VEC(const struct top_row *) top_rows;

/*
 * Appends the rows with the filter in their service or operation, in any case, largest first.
 * Equal ones are in the order of their names, so that the list is stable.  Idle operations, such
 * as long polls, come last.
 */
void top_order(const struct top_view *view, enum top_sort sort, const char *filter, top_rows *ret);

/* Whether rows of two views are the same operation. */
bool top_row_is(const struct top_row *row, const char *service, const char *operation);

/*
 * Where the time of several operations went: the sum of their accounts, weighted by time.
 * Allocated from the arena.
 */
struct top_account top_sum(const top_rows *rows, struct arena *arena);

#endif
