/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: width, height, flags, then strings that end with a zero byte: the keys that are typed, and
 * the names on the screen of top.  Whatever they are, the screen consists of characters and of the
 * sequences that grid_draw() writes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/keys.h"
#include "cli/top_ui.h"

struct strings {
	const char *at, *end;
};

static const char *next(struct strings *s)
{
	const char *string = s->at < s->end ? s->at : "";

	if (s->at < s->end)
		s->at += strlen(s->at) + 1;
	return string;
}

static void check(bool right)
{
	if (!right)
		abort();
}

/* ESC [ numbers letter: of those that grid_draw() uses. */
static size_t sequence_length(const char *s, size_t len)
{
	size_t i = 2;

	check(len > 2 && s[1] == '[');
	while (i < len && ((s[i] >= '0' && s[i] <= '9') || s[i] == ';'))
		i++;
	check(i < len && strchr("HGmK", s[i]));
	return i + 1;
}

static void check_bytes(const screen_bytes *bytes)
{
	for (size_t i = 0; i < bytes->count;) {
		const char *s = bytes->items + i;
		size_t left = bytes->count - i, n = utf8_length(s, left);

		check(n > 0);
		if (*s == KEY_ESC) {
			i += sequence_length(s, left);
			continue;
		}
		check(!utf8_control(s, n));
		i += n;
	}
}

static void draw(const struct top_view *view, const struct top_controls *controls, size_t columns,
		 size_t rows, bool utf8)
{
	screen_bytes bytes = { 0 };
	struct grid grid;

	grid_init(&grid, columns, rows, utf8);
	top_text(&grid, view, controls);
	grid_draw(&grid, true, &bytes);
	check_bytes(&bytes);
	for (size_t i = 0; !utf8 && i < bytes.count; i++)
		check(!(bytes.items[i] & 0x80));
	vec_done(&bytes);
	grid_done(&grid);
}

static void type(struct top_ui *ui, const struct top_view *view, const char *bytes, size_t rows)
{
	struct keys keys = { .count = 0 };
	uint32_t key;

	keys_feed(&keys, bytes, strlen(bytes));
	while ((key = keys_next(&keys, true)))
		top_ui_key(ui, view, key, rows);
	check(keys.count == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	enum { ROWS = 3 };
	struct top_row rows[ROWS] = { 0 };

	if (size < 3)
		return 0;

	char *copy = must_alloc(size + 1); /* ends with a zero, so that the last string does */

	memcpy(copy, bytes, size);

	struct strings s = { copy + 3, copy + size };
	const char *typed = next(&s);
	struct top_share share = { next(&s), bytes[2] % 128, bytes[1] / 100.0 };
	struct top_cause cause = { bytes[0] / 100.0, next(&s) };
	struct top_view view = {
		.host = next(&s), .scope = next(&s), .rows = rows, .row_count = ROWS
	};

	for (size_t i = 0; i < ROWS; i++) {
		rows[i].service = next(&s);
		rows[i].operation = next(&s);
		rows[i].explanation = i ? next(&s) : NULL;
		rows[i].history[i] = rows[i].p95 = rows[i].total = bytes[i];
		rows[i].in_flight = (uint64_t)bytes[i] << (bytes[2] % 56);
		rows[i].account = (struct top_account){ &share, 1, &cause, 1 };
	}
	view.all = rows[0].account;
	view.problem = bytes[2] & 1 ? next(&s) : NULL;

	struct top_ui ui;

	top_ui_init(&ui);
	type(&ui, &view, typed, bytes[1]);
	draw(&view, &ui.controls, bytes[0], bytes[1], bytes[2] & 2);
	top_ui_done(&ui);
	free(copy);
	return 0;
}
