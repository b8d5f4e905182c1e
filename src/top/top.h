/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top - the numbers of `sonde top`: a consumer of live/ that fills views (report/top_view.h).
 *
 *	struct top *top = top_new(&(struct top_options){ .scope = "all processes" });
 *	live_add_consumer(live, &consumer);	(from top_consumer())
 *	...
 *	struct top_view *view = top_view_new(top);	(after a tick)
 *
 * Rates and percentiles are exact, over the last five seconds.  Where the time went is what it is
 * now: over the last two seconds, or up to five if there are few requests.  It is found by an
 * account of each request (analyse/account.h), which costs much more than counting it.  So there
 * is a budget of accounts per tick, fewer if the paths of requests are long.  If more requests end,
 * accounts are made of the slowest ones and of a random sample of the others, weighted such that
 * every share stays unbiased; the view has the number of accounts.
 *
 * With a baseline, all spans of requests are compared with it, or those of a sample of requests.
 *
 * The number of operations is bounded: those with the least time are one row, "others".
 */
#ifndef SONDE_TOP_TOP_H
#define SONDE_TOP_TOP_H

#include "diagnose/profile.h"
#include "live/live.h"
#include "report/top_view.h"

struct top;

struct top_options {
	size_t budget;     /* accounts per tick; 0: default */
	size_t columns;    /* width of explanations; 0: 80 */
	const char *scope; /* what is recorded, for the title */
	/* what is usual, to compare requests with; borrowed; both NULL: not compared */
	const struct baseline *baseline;
	const struct profiles *profiles;
};

struct top *top_new(const struct top_options *options);
void top_free(struct top *top);
DEFINE_FREEP(top)

/* Borrows `top`. */
struct consumer top_consumer(struct top *top);

/* The width of explanations that are written from now on. */
void top_set_columns(struct top *top, size_t columns);

/* The state after the last tick; the caller frees it with top_view_free(). */
struct top_view *top_view_new(struct top *top);

#endif
