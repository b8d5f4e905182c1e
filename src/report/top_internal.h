/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the screen of `sonde top`; see report/top_text.h. */
#ifndef SONDE_REPORT_TOP_INTERNAL_H
#define SONDE_REPORT_TOP_INTERNAL_H

#include "base/text.h"
#include "report/top_text.h"

/* A screen that is being drawn from top to bottom. */
struct top_screen {
	struct grid *grid;
	const struct top_view *view;
	const struct top_controls *controls;
	size_t row; /* to draw next */

	const top_rows *rows;           /* listed operations, in order */
	const struct top_row *selected; /* NULL: none */
	double total;               /* sum of the latencies of operations that are not idle, ns */
	struct top_account account; /* of the selected operation, or of all that are listed */
	VEC(const struct top_deviation *) deviations; /* of the same */
};

/* Values in the few columns of a table: 7 at most. */
struct text top_time(nsec_t ns);
struct text top_time_above(nsec_t ns); /* ">2.3 s" */
struct text top_rate(double rate);
struct text top_count(uint64_t n);     /* 999, 9.9k, 999k, ...: 4 columns */
struct text top_percent(double share); /* of 1 */

/* The name of an operation, with its service if it does not contain it.  The caller frees it. */
char *top_row_name(const struct top_row *row);

/* Leaves out the addresses of a name, and keeps their ports: ":8080" instead of "127.0.0.1:8080".
 */
void top_shorten(char *name);

/* Whether requests are open, and none has ended for a while. */
bool top_is_stalled(const struct top_row *row);

/* The table of operations, its head included, in so many rows. */
void top_table(struct top_screen *s, size_t height);

/* Number of services with a bar. */
size_t top_bar_count(const struct top_account *account);
/* A bar for each of the largest services, in so many rows. */
void top_bars(struct top_screen *s, size_t height);

/* The rows that all causes need at this width. */
size_t top_causes_height(const struct top_screen *s, const struct top_account *account);
void top_causes(struct top_screen *s, size_t height);

/* What differs from the baseline, in the same way. */
size_t top_deviations_height(const struct top_screen *s);
void top_deviations(struct top_screen *s, size_t height);

/* The last rows of a screen: losses and cost, and keys. */
void top_footer(struct top_screen *s);
void top_keys(struct top_screen *s);

/* Pages that are text. */
void top_pages(struct top_screen *s);

/*
 * Writes words into lines of `width` columns.  If they need more than `height` lines, the last one
 * ends with an ellipsis.  Below the grid, nothing is written.  Returns the number of lines.
 */
size_t top_wrap(struct grid *g, size_t row, size_t column, size_t width, size_t height,
		const char *words);

#endif
