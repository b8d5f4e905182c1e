/* SPDX-License-Identifier: Apache-2.0 */
/* The last lines of `sonde top`: what sonde loses and uses, and the keys. */
#include <stdio.h>
#include <string.h>

#include "report/top_internal.h"

/* Appends a piece to the line if it fits. */
static void put_piece(struct top_screen *s, size_t *column, unsigned look, const char *words)
{
	size_t gap = *column ? 2 : 0;

	if (*column + gap + grid_width(s->grid, words, strlen(words)) > s->grid->columns)
		return;
	*column += gap + grid_put(s->grid, s->row, *column + gap, SIZE_MAX, look, words);
}

static struct text percent_of_cpu(double cores)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%.1f %%", cores * 100);
	return t;
}

/* Shorter than format_size(), and always in the same unit. */
static struct text mebibytes(uint64_t bytes)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%.0f MiB", bytes / 1048576.0);
	return t;
}

/* If the window is shorter than wanted although so much was recorded, its memory is used up. */
static bool is_window_short(const struct top_view *v)
{
	return v->elapsed > v->window_wanted && v->window < v->window_wanted / 10 * 9;
}

void top_footer(struct top_screen *s)
{
	const struct top_view *v = s->view;
	size_t column = 0;
	char words[160];

	snprintf(words, sizeof(words), "%s lost", format_count(v->lost).s);
	put_piece(s, &column, v->lost ? LOOK_RED | LOOK_BOLD : LOOK_PLAIN, words);
	if (v->lag > 2 * NSEC_PER_SEC) {
		snprintf(words, sizeof(words), "%s behind", format_time(v->lag).s);
		put_piece(s, &column, LOOK_RED | LOOK_BOLD, words);
	}
	if (is_window_short(v)) {
		snprintf(words, sizeof(words), "window %s of %s: %s are full",
			 format_time(v->window).s, format_time(v->window_wanted).s,
			 format_size(v->memory_limit).s);
		put_piece(s, &column, LOOK_YELLOW, words);
	}
	if (v->recorder_memory) {
		snprintf(words, sizeof(words), "recorder %s CPU, %s",
			 percent_of_cpu(v->recorder_cpu).s, mebibytes(v->recorder_memory).s);
		put_piece(s, &column, LOOK_PLAIN, words);
	}
	if (v->reader_memory) {
		snprintf(words, sizeof(words), "top %s CPU, %s", percent_of_cpu(v->reader_cpu).s,
			 mebibytes(v->reader_memory).s);
		put_piece(s, &column, LOOK_PLAIN, words);
	}
	snprintf(words, sizeof(words), "%s records/s", top_rate(v->record_rate).s);
	put_piece(s, &column, LOOK_PLAIN, words);
	s->row++;
}

static void put_key(struct top_screen *s, size_t *column, const char *key, const char *words)
{
	struct grid *g = s->grid;
	size_t gap = *column ? 2 : 0, length = grid_width(g, words, strlen(words));

	if (*column + gap + grid_width(g, key, strlen(key)) + 1 + length > g->columns)
		return;
	*column += gap;
	*column += grid_put(g, s->row, *column, SIZE_MAX, LOOK_BOLD, key);
	*column += 1 + grid_put(g, s->row, *column + 1, SIZE_MAX, LOOK_PLAIN, words);
}

static void put_typing(struct top_screen *s)
{
	size_t column = grid_put(s->grid, s->row, 0, SIZE_MAX, LOOK_BOLD, "filter: ");

	column += grid_put(s->grid, s->row, column, s->grid->columns / 2, LOOK_PLAIN,
			   s->controls->filter);
	grid_repeat(s->grid, s->row, column, 1, LOOK_REVERSE, " ", ' ');
	column += 2;
	put_key(s, &column, "Enter", "keep");
	put_key(s, &column, "Esc", "clear");
}

void top_keys(struct top_screen *s)
{
	const struct top_controls *c = s->controls;
	const char *arrows = s->grid->utf8 ? "↑↓" : "j/k";
	size_t column = 0;
	char words[48];

	if (c->page != TOP_PAGE_MAIN) {
		put_key(s, &column, "Esc", "back");
		put_key(s, &column, arrows, "scroll");
		put_key(s, &column, "q", "quit");
	} else if (c->is_typing) {
		put_typing(s);
	} else {
		put_key(s, &column, "q", "quit");
		put_key(s, &column, arrows, "select");
		put_key(s, &column, "Enter", "explain");
		snprintf(words, sizeof(words), "sort (%s)", top_sort_name(c->sort));
		put_key(s, &column, "s", words);
		snprintf(words, sizeof(words), "filter%s%.20s", *c->filter ? ": " : "", c->filter);
		put_key(s, &column, "/", words);
		put_key(s, &column, "Space", c->is_frozen ? "go on" : "freeze");
		put_key(s, &column, "?", "help");
	}
	s->row++;
}
