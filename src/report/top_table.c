/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operations of `sonde top`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/top_internal.h"

enum {
	MARK = 1, /* columns before the first value: the mark of the selected row */
	PERCENT = 5,
	RATE = 7,
	OPEN = 5,
	TIME = 8,
	BASELINE = 10,
	GAP = 2,
	NAME_LEAST = 14, /* columns of a name, for which others are left out */
};

/* Which columns fit, and where they begin. */
struct table {
	bool has[TOP_SORTS];
	bool has_baseline;
	size_t cells;  /* of the sparkline; 0: none */
	size_t name;   /* first column of the names */
	bool is_short; /* names without addresses, as not all would fit */
};

static size_t value_width(enum top_sort column)
{
	static const size_t widths[TOP_SORTS] = { PERCENT, RATE, OPEN, TIME, TIME, TIME };

	return widths[column];
}

static size_t values_width(const struct table *t)
{
	size_t width = MARK + (t->has_baseline ? BASELINE : 0);

	for (enum top_sort i = 0; i < TOP_SORTS; i++)
		width += t->has[i] ? value_width(i) : 0;
	return width;
}

/*
 * If names have no room, leave out columns; at last only p95 remains.  On a narrow page that does
 * not change, names are worth more than a sparkline.
 */
static struct table table_of(size_t columns, bool is_terminal, bool has_baseline)
{
	static const enum top_sort least[] = { TOP_SORT_P50, TOP_SORT_TIME, TOP_SORT_OPEN,
					       TOP_SORT_P99, TOP_SORT_RATE };
	static const size_t cells[] = { 60, 30, 20, 15, 10 };
	struct table t = { .has = { true, true, true, true, true, true },
			   .has_baseline = has_baseline };
	size_t i = 0;

	while (i < ARRAY_LEN(least) && values_width(&t) + GAP + NAME_LEAST > columns)
		t.has[least[i++]] = false;
	t.name = values_width(&t) + GAP;
	if (!is_terminal && columns < 100)
		return t;
	for (i = 0; i < ARRAY_LEN(cells) && !t.cells; i++)
		if (t.name + cells[i] + GAP + NAME_LEAST + cells[i] / 2 <= columns)
			t.cells = cells[i];
	t.name += t.cells ? t.cells + GAP : 0;
	return t;
}

static void put_head(struct top_screen *s, const struct table *t, size_t hidden)
{
	const struct top_controls *c = s->controls;
	struct grid *g = s->grid;
	size_t column = MARK;
	char words[64] = "operation";

	grid_look(g, s->row, LOOK_REVERSE);
	for (enum top_sort i = 0; i < TOP_SORTS; i++) {
		char title[16];

		if (!t->has[i])
			continue;
		snprintf(title, sizeof(title), "%s%s",
			 c->sort != i ? ""
			 : g->utf8    ? "↓"
				      : "*",
			 top_sort_name(i));
		grid_put_right(g, s->row, column, value_width(i),
			       LOOK_REVERSE | (c->sort == i ? LOOK_BOLD : 0), title);
		column += value_width(i);
	}
	if (t->has_baseline) {
		grid_put_right(g, s->row, column, BASELINE, LOOK_REVERSE, "baseline");
		column += BASELINE;
	}
	if (t->cells)
		grid_put(g, s->row, column + GAP, t->cells, LOOK_REVERSE,
			 t->cells < 13 ? "p95, 60 s" : "p95 over 60 s");
	if (*c->filter)
		snprintf(words, sizeof(words), "operation (%zu of %zu)", s->rows->count,
			 s->view->row_count);
	else if (hidden)
		snprintf(words, sizeof(words), "operation (%zu more below)", hidden);
	grid_put(g, s->row++, t->name, SIZE_MAX, LOOK_REVERSE, words);
}

/* The largest p95 of the seconds of a cell. */
static nsec_t cell_value(const struct top_row *row, size_t cell, size_t cells)
{
	size_t first = cell * TOP_SECONDS / cells, end = (cell + 1) * TOP_SECONDS / cells;
	nsec_t largest = 0;

	for (size_t i = first; i < end; i++)
		if (row->history[i] > largest)
			largest = row->history[i];
	return largest;
}

static void put_sparkline(struct top_screen *s, const struct top_row *row, size_t column,
			  size_t cells, unsigned look)
{
	static const char *const levels[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char ascii[] = "_.-:=+*#";
	nsec_t most = cell_value(row, 0, 1);

	for (size_t i = 0; i < cells && most; i++) {
		nsec_t value = cell_value(row, i, cells);
		size_t level = (double)value * (ARRAY_LEN(levels) - 1) / most + 0.5;

		if (value)
			grid_repeat(s->grid, s->row, column + i, 1, look, levels[level],
				    ascii[level]);
	}
}

/* A percentile; ">2.3 s" if requests in flight can still raise it. */
static struct text percentile(const struct top_row *row, nsec_t value, unsigned bit)
{
	if (!value)
		return (struct text){ "-" };
	return row->at_least & bit ? top_time_above(value) : top_time(value);
}

static struct text value_of(const struct top_screen *s, const struct top_row *row,
			    enum top_sort column)
{
	switch (column) {
	case TOP_SORT_TIME:
		if (row->is_idle)
			return (struct text){ "idle" };
		return top_percent(s->total > 0 ? row->total / s->total : 0);
	case TOP_SORT_RATE:
		return top_rate(row->rate);
	case TOP_SORT_OPEN:
		return top_count(row->in_flight);
	case TOP_SORT_P50:
		return percentile(row, row->p50, TOP_P50);
	case TOP_SORT_P95:
		return percentile(row, row->p95, TOP_P95);
	default:
		return percentile(row, row->p99, TOP_P99);
	}
}

/* Whether requests behave as in the baseline. */
static const char *baseline_word(const struct top_row *row)
{
	if (!row->deviation_count)
		return row->compared ? "usual" : "-";
	if (strcmp(row->deviations[0].state, "pattern") == 0)
		return "differs";
	return row->deviations[0].is_faster ? "faster" : "slower";
}

static size_t put_baseline(struct top_screen *s, const struct top_row *row, size_t column,
			   unsigned look)
{
	unsigned alarm = look ? look : LOOK_YELLOW | LOOK_BOLD;

	grid_put_right(s->grid, s->row, column, BASELINE, row->deviation_count ? alarm : look,
		       baseline_word(row));
	return column + BASELINE;
}

static void put_row(struct top_screen *s, const struct table *t, const struct top_row *row)
{
	_cleanup_(freep) char *name = top_row_name(row);
	unsigned look = row == s->selected    ? LOOK_REVERSE
			: top_is_stalled(row) ? LOOK_RED | LOOK_BOLD
			: row->is_idle        ? LOOK_DIM
					      : LOOK_PLAIN;
	size_t column = MARK;

	grid_look(s->grid, s->row, look);
	if (row == s->selected || top_is_stalled(row))
		grid_put(s->grid, s->row, 0, MARK, look, row == s->selected ? ">" : "!");
	for (enum top_sort i = 0; i < TOP_SORTS; i++) {
		if (!t->has[i])
			continue;
		grid_put_right(s->grid, s->row, column, value_width(i),
			       look | (s->controls->sort == i ? LOOK_BOLD : 0),
			       value_of(s, row, i).s);
		column += value_width(i);
	}
	if (t->has_baseline)
		column = put_baseline(s, row, column, look);
	put_sparkline(s, row, column + GAP, t->cells, look ? look : LOOK_CYAN);
	if (t->is_short)
		top_shorten(name);
	grid_put_ends(s->grid, s->row++, t->name, SIZE_MAX, look, name);
}

static void put_none(struct top_screen *s, size_t height)
{
	const struct top_view *v = s->view;
	char words[320];

	if (*s->controls->filter && v->row_count)
		snprintf(words, sizeof(words), "no operation matches the filter; Esc clears it");
	else if (v->elapsed < v->interval && !v->problem)
		snprintf(words, sizeof(words), "waiting for the first requests to end");
	else
		snprintf(words, sizeof(words),
			 "no requests in the last %s. Is a service in use now, and in the scope "
			 "(%.100s)? 'sonde doctor' checks what this host can record.",
			 format_time(v->elapsed < TOP_SECONDS * NSEC_PER_SEC
					     ? v->elapsed
					     : TOP_SECONDS * NSEC_PER_SEC)
				 .s,
			 v->scope);
	top_wrap(s->grid, s->row, 2, s->grid->columns > 4 ? s->grid->columns - 4 : 1, height,
		 words);
	s->row += height;
}

static size_t index_of_selected(const struct top_screen *s)
{
	for (size_t i = 0; i < s->rows->count; i++)
		if (s->rows->items[i] == s->selected)
			return i;
	return 0;
}

static bool fits(const struct top_screen *s, const struct table *t, const struct top_row *row)
{
	_cleanup_(freep) char *name = top_row_name(row);

	return t->name + grid_width(s->grid, name, strlen(name)) <= s->grid->columns;
}

void top_table(struct top_screen *s, size_t height)
{
	struct table t = table_of(s->grid->columns, s->controls->has_keys, s->view->has_baseline);
	size_t selected = index_of_selected(s), count = s->rows->count;

	if (!height)
		return;

	size_t shown = height - 1, first = selected < shown ? 0 : selected + 1 - shown;
	size_t end = first + shown < count ? first + shown : count;

	for (size_t i = first; i < end; i++)
		t.is_short |= !fits(s, &t, s->rows->items[i]);
	put_head(s, &t, count - end);
	if (!count)
		put_none(s, shown);
	for (size_t i = first; i < end; i++)
		put_row(s, &t, s->rows->items[i]);
	if (count)
		s->row += shown - (end - first);
}
