/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_ui - what the keys of `sonde top` do.
 *
 * The selection is an operation, not a position: it stays when the order changes.  The text of an
 * explanation is copied, as views come and go.
 */
#ifndef SONDE_CLI_TOP_UI_H
#define SONDE_CLI_TOP_UI_H

#include "report/top_text.h"

struct top_ui {
	struct top_controls controls;
	char filter[64];
	char *service, *operation, *title, *text; /* of the controls; owned */
};

void top_ui_init(struct top_ui *ui);
void top_ui_done(struct top_ui *ui);

/* A key was pressed while the view was shown in so many rows.  Returns false to quit. */
bool top_ui_key(struct top_ui *ui, const struct top_view *view, uint32_t key, size_t rows);

/* A new view is shown. */
void top_ui_view(struct top_ui *ui, const struct top_view *view);

#endif
