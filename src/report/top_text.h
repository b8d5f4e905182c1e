/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_text - the screen of `sonde top`.
 *
 * From top to bottom: what is recorded; the operations; where their time goes, by service and
 * state; the causes that cost most; what sonde itself loses and uses; the keys.  If the screen
 * is low, the bars and then the causes are left out; if it is narrow, columns are.  The bars are
 * made of the letters of the states, so they need no colours.
 *
 * The lower half is about all operations, those that match the filter, or the selected one.
 */
#ifndef SONDE_REPORT_TOP_TEXT_H
#define SONDE_REPORT_TOP_TEXT_H

#include "report/grid.h"
#include "report/top_order.h"
#include "report/top_view.h"

enum top_page {
	TOP_PAGE_MAIN,
	TOP_PAGE_EXPLAIN,
	TOP_PAGE_HELP,
};

/* What the user has chosen.  All strings are borrowed. */
struct top_controls {
	enum top_page page;
	enum top_sort sort;
	bool is_frozen;
	bool has_keys;                   /* whether to list the keys: the output is a terminal */
	bool is_typing;                  /* the filter is being typed */
	const char *filter;              /* "": none */
	const char *service, *operation; /* the selected operation; NULL: none */
	size_t table_rows; /* keep room for so many operations, so that the rest stays in place */

	const char *title, *text; /* of the page that explains a request */
	size_t scroll, shift;     /* of its text, in lines and columns */
};

/* Draws a screen into an empty grid. */
void top_text(struct grid *g, const struct top_view *view, const struct top_controls *controls);

/* The largest useful `scroll` of a page on a screen with this number of rows. */
size_t top_scroll_max(const struct top_controls *controls, size_t rows);

#endif
