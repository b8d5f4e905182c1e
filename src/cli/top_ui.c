/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top_ui.h"

#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "base/text.h"
#include "cli/keys.h"

void top_ui_init(struct top_ui *ui)
{
	*ui = (struct top_ui){ .controls = { .has_keys = true } };
	ui->controls.filter = ui->filter;
}

void top_ui_done(struct top_ui *ui)
{
	free(ui->service);
	free(ui->operation);
	free(ui->title);
	free(ui->text);
}

/* Replaces an owned string, by NULL for none.  The new one can be a part of the old one. */
static void set(char **to, const char *value)
{
	char *copy = value ? must_printf("%s", value) : NULL;

	free(*to);
	*to = copy;
}

static void select_row(struct top_ui *ui, const struct top_row *row)
{
	set(&ui->service, row ? row->service : NULL);
	set(&ui->operation, row ? row->operation : NULL);
	ui->controls.service = ui->service;
	ui->controls.operation = ui->operation;
}

/* The index of the selected row; the number of rows if none is, or if it is not listed. */
static size_t selected_index(const struct top_ui *ui, const top_rows *rows)
{
	size_t i = 0;

	if (!ui->operation)
		return rows->count;
	while (i < rows->count && !top_row_is(rows->items[i], ui->service, ui->operation))
		i++;
	return i;
}

/* Selects a row relative to the selected one; without one, the first. */
static void move(struct top_ui *ui, const struct top_view *view, long by)
{
	top_rows rows = { 0 };

	top_order(view, ui->controls.sort, ui->filter, &rows);
	if (rows.count) {
		size_t from = selected_index(ui, &rows);
		long last = rows.count - 1, to = from > (size_t)last ? 0 : (long)from + by;

		select_row(ui, rows.items[to < 0 ? 0 : to > last ? last : to]);
	}
	vec_done(&rows);
}

static void open_page(struct top_ui *ui, enum top_page page)
{
	ui->controls.page = page;
	ui->controls.scroll = ui->controls.shift = 0;
}

/* What leaves the baseline, and the explanation.  The caller frees it. */
static char *page_text(const struct top_row *row)
{
	char *text = must_strdup(row->deviation_count ? "what leaves the baseline:\n" : "");

	for (size_t i = 0; i <= row->deviation_count; i++) {
		bool is_last = i == row->deviation_count;
		char *longer = is_last ? must_printf("%s%s%s", text, i ? "\n" : "",
						     row->explanation
							     ?: "No request of this operation was "
								"analysed yet.\n")
				       : must_printf("%s  %s\n", text, row->deviations[i].text);

		free(text);
		text = longer;
	}
	return text;
}

/* Explains the slowest request of the selected operation, or of the first. */
static void explain(struct top_ui *ui, const struct top_view *view)
{
	top_rows rows = { 0 };
	const struct top_row *row = NULL;

	top_order(view, ui->controls.sort, ui->filter, &rows);
	if (rows.count) {
		size_t i = selected_index(ui, &rows);

		row = rows.items[i < rows.count ? i : 0];
	}
	vec_done(&rows);
	if (!row)
		return;

	_cleanup_(freep) char *title =
		must_printf("slowest request of %s %s: %s", row->service, row->operation,
			    row->slowest ? format_time(row->slowest).s : "none yet");

	select_row(ui, row);
	set(&ui->title, title);

	_cleanup_(freep) char *text = page_text(row);

	set(&ui->text, text);
	ui->controls.title = ui->title;
	ui->controls.text = ui->text;
	open_page(ui, TOP_PAGE_EXPLAIN);
}

static void erase_character(char *text)
{
	size_t len = strlen(text);

	while (len && ((unsigned char)text[--len] & 0xc0) == 0x80)
		;
	text[len] = '\0';
}

/* Appends a character as UTF-8, if there is room. */
static void append_character(char *text, size_t size, uint32_t code)
{
	size_t len = strlen(text), n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	if (len + n + 1 > size)
		return;
	for (size_t i = n; i-- > 1; code >>= 6)
		text[len + i] = (char)(0x80 | (code & 0x3f));
	text[len] = (char)(n == 1 ? code : (0xf00u >> n) | code);
	text[len + n] = '\0';
}

static void typing_key(struct top_ui *ui, uint32_t key)
{
	switch (key) {
	case KEY_ESC:
		ui->filter[0] = '\0';
		ui->controls.is_typing = false;
		break;
	case KEY_ENTER:
		ui->controls.is_typing = false;
		break;
	case KEY_BACKSPACE:
		erase_character(ui->filter);
		break;
	case KEY_CTRL_U:
		ui->filter[0] = '\0';
		break;
	default:
		if (key >= ' ' && key < KEY_UP)
			append_character(ui->filter, sizeof(ui->filter), key);
	}
}

/* Keys of the pages that are text. */
static void page_key(struct top_ui *ui, uint32_t key, size_t rows)
{
	struct top_controls *c = &ui->controls;
	size_t max = top_scroll_max(c, rows), page = rows > 4 ? rows - 4 : 1;

	switch (key) {
	case KEY_DOWN:
	case 'j':
		c->scroll++;
		break;
	case KEY_UP:
	case 'k':
		c->scroll -= c->scroll > 0;
		break;
	case KEY_PAGE_DOWN:
	case ' ':
		c->scroll += page;
		break;
	case KEY_PAGE_UP:
	case 'b':
		c->scroll -= c->scroll < page ? c->scroll : page;
		break;
	case KEY_HOME:
	case 'g':
		c->scroll = 0;
		break;
	case KEY_END:
	case 'G':
		c->scroll = max;
		break;
	case KEY_RIGHT:
		c->shift += 8;
		break;
	case KEY_LEFT:
		c->shift -= c->shift < 8 ? c->shift : 8;
		break;
	default:
		open_page(ui, TOP_PAGE_MAIN);
	}
	c->scroll = c->scroll < max ? c->scroll : max;
}

static void escape_key(struct top_ui *ui)
{
	if (ui->filter[0])
		ui->filter[0] = '\0';
	else
		select_row(ui, NULL);
}

static void main_key(struct top_ui *ui, const struct top_view *view, uint32_t key, size_t rows)
{
	struct top_controls *c = &ui->controls;
	long page = rows > 8 ? rows / 3 : 1, far = GRID_MAX * GRID_MAX;

	switch (key) {
	case KEY_DOWN:
	case 'j':
		return move(ui, view, 1);
	case KEY_UP:
	case 'k':
		return move(ui, view, -1);
	case KEY_PAGE_DOWN:
		return move(ui, view, page);
	case KEY_PAGE_UP:
		return move(ui, view, -page);
	case KEY_HOME:
	case 'g':
		return move(ui, view, -far);
	case KEY_END:
	case 'G':
		return move(ui, view, far);
	case KEY_ENTER:
	case 'e':
		return explain(ui, view);
	case KEY_ESC:
		return escape_key(ui);
	case 's':
		c->sort = (c->sort + 1) % TOP_SORTS;
		break;
	case '/':
		c->is_typing = true;
		break;
	case 'f':
	case ' ':
		c->is_frozen = !c->is_frozen;
		break;
	case 'h':
	case '?':
		open_page(ui, TOP_PAGE_HELP);
	}
}

bool top_ui_key(struct top_ui *ui, const struct top_view *view, uint32_t key, size_t rows)
{
	if (key == KEY_CTRL_C)
		return false;
	if (ui->controls.is_typing) {
		typing_key(ui, key);
		return true;
	}
	if (key == 'q' || key == 'Q')
		return false;
	if (ui->controls.page == TOP_PAGE_MAIN)
		main_key(ui, view, key, rows);
	else
		page_key(ui, key, rows);
	return true;
}

void top_ui_view(struct top_ui *ui, const struct top_view *view)
{
	if (view->row_count > ui->controls.table_rows)
		ui->controls.table_rows = view->row_count;
}
