/* SPDX-License-Identifier: Apache-2.0 */
#include "report/top_text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "report/top_internal.h"

struct text top_time(nsec_t ns)
{
	struct text t;

	if (ns < 100 * NSEC_PER_SEC)
		return format_time(ns);
	if (ns < 10000 * NSEC_PER_SEC)
		snprintf(t.s, sizeof(t.s), "%u s", (unsigned)(ns / NSEC_PER_SEC));
	else
		snprintf(t.s, sizeof(t.s), "%u h", (unsigned)(ns / NSEC_PER_SEC / 3600));
	return t;
}

/* Two digits suffice for a bound, and leave room for its mark. */
struct text top_time_above(nsec_t ns)
{
	nsec_t unit = 1;
	struct text t;

	while (ns / unit >= 100)
		unit *= 10;
	snprintf(t.s, sizeof(t.s), ">%.24s", top_time(ns / unit * unit).s);
	return t;
}

struct text top_rate(double rate)
{
	struct text t;

	if (rate > 0 && rate < 9.95 && rate != (unsigned)rate)
		snprintf(t.s, sizeof(t.s), "%.1f", rate);
	else if (rate < 99999.5)
		t = format_count(rate + 0.5);
	else
		snprintf(t.s, sizeof(t.s), rate < 999500 ? "%.0fk" : "%.1fM",
			 rate < 999500 ? rate / 1e3 : rate / 1e6);
	return t;
}

struct text top_count(uint64_t n)
{
	struct text t;

	if (n < 1000)
		snprintf(t.s, sizeof(t.s), "%u", (unsigned)n);
	else if (n < 9950)
		snprintf(t.s, sizeof(t.s), "%.1fk", n / 1e3);
	else if (n < 999500)
		snprintf(t.s, sizeof(t.s), "%.0fk", n / 1e3);
	else
		snprintf(t.s, sizeof(t.s), "%.0fM", n / 1e6);
	return t;
}

/* Whether requests ended before the last two seconds, and none since. */
static bool is_silent(const struct top_row *row)
{
	nsec_t before = 0;

	for (size_t i = 0; i < TOP_SECONDS - 2; i++)
		before |= row->history[i];
	return before && !row->history[TOP_SECONDS - 2] && !row->history[TOP_SECONDS - 1];
}

/*
 * Streams in one direction, such as logs, look like requests without a reply; so there must have
 * been replies.  An operation with few requests can be slow: it must be silent for the whole
 * interval.
 */
bool top_is_stalled(const struct top_row *row)
{
	enum { OFTEN = 10 }; /* requests in the interval */

	return row->in_flight && row->oldest > NSEC_PER_SEC && !row->is_idle && is_silent(row) &&
	       (!row->requests || row->requests >= OFTEN);
}

struct text top_percent(double share)
{
	struct text t;

	share = share < 0 ? 0 : share > 1 ? 1 : share;
	snprintf(t.s, sizeof(t.s), share > 0 && share < 0.005 ? "<1 %%" : "%.0f %%", share * 100);
	return t;
}

char *top_row_name(const struct top_row *row)
{
	bool has_service = *row->service && strstr(row->operation, row->service);

	return must_printf("%s%s%s", has_service ? "" : row->service,
			   has_service || !*row->service ? "" : " ", row->operation);
}

/* The length of an IPv4 address with a port at the beginning of a text, up to the colon; or 0. */
static size_t address_length(const char *s)
{
	size_t len = strspn(s, "0123456789."), dots = 0;

	for (size_t i = 0; i < len; i++)
		dots += s[i] == '.';
	return dots == 3 && s[len] == ':' ? len : 0;
}

void top_shorten(char *name)
{
	for (char *at = name; at; at = strchr(at, ' ')) {
		at += *at == ' ';

		size_t len = address_length(at);

		memmove(at, at + len, strlen(at + len) + 1);
	}
}

/* The next line of words: its length in bytes, and the length with the blanks after it. */
static size_t line_length(const struct grid *g, const char *words, size_t width, size_t *ret_used)
{
	size_t at = 0, end = 0;

	do {
		size_t next = at + strcspn(words + at, " ");

		if (end && grid_width(g, words, next) > width)
			break;
		end = next;
		at = next + strspn(words + next, " ");
	} while (words[at]);
	*ret_used = at;
	return end;
}

size_t top_wrap(struct grid *g, size_t row, size_t column, size_t width, size_t height,
		const char *words)
{
	size_t lines = 0;

	while (*words && lines < height) {
		size_t used, len = line_length(g, words, width, &used);

		if (lines + 1 == height)
			len = strlen(words);
		grid_put_bytes(g, row + lines++, column, width, LOOK_PLAIN, words, len);
		words += used;
	}
	return lines;
}

static void put_clock(struct top_screen *s, size_t *right)
{
	time_t seconds = s->view->time / NSEC_PER_SEC;
	char words[32];
	struct tm tm;

	if (!seconds || !localtime_r(&seconds, &tm) || *right < 60)
		return;
	*right -= strftime(words, sizeof(words), "%H:%M:%S", &tm);
	grid_put(s->grid, s->row, *right, SIZE_MAX, LOOK_PLAIN, words);
	*right -= 3;
}

static void put_title(struct top_screen *s)
{
	const struct top_view *v = s->view;
	size_t right = s->grid->columns, left;
	char words[320];

	put_clock(s, &right);
	snprintf(words, sizeof(words), "%s requests/s", top_rate(v->rate).s);
	if (right > strlen(words) + 10) {
		right -= strlen(words);
		grid_put(s->grid, s->row, right, SIZE_MAX, LOOK_BOLD, words);
		right -= right > 3 ? 3 : right;
	}
	if (s->controls->is_frozen && right > 20) {
		right -= strlen("FROZEN");
		grid_put(s->grid, s->row, right, strlen("FROZEN"), LOOK_REVERSE | LOOK_BOLD,
			 "FROZEN");
		right -= 3;
	}
	left = grid_put(s->grid, s->row, 0, right, LOOK_BOLD, "sonde top");
	snprintf(words, sizeof(words), "   %.200s%s%.64s", v->scope, *v->host ? " on " : "",
		 v->host);
	if (right > left)
		grid_put(s->grid, s->row, left, right - left, LOOK_PLAIN, words);
	s->row++;
}

/* The operation with requests that have been open for the longest time while none ends. */
static const struct top_row *find_stalled(const struct top_view *v)
{
	const struct top_row *oldest = NULL;

	for (size_t i = 0; i < v->row_count; i++)
		if (top_is_stalled(&v->rows[i]) && (!oldest || v->rows[i].oldest > oldest->oldest))
			oldest = &v->rows[i];
	return oldest;
}

/* What needs attention, in one line; false: nothing.  *ret_look is for warnings or for alarms. */
static bool trouble_words(const struct top_view *v, char *words, size_t size, unsigned *ret_look)
{
	const struct top_row *stalled = find_stalled(v);

	*ret_look = LOOK_RED | LOOK_BOLD | LOOK_REVERSE;
	if (v->problem) {
		snprintf(words, size, "recorder: %s", v->problem);
	} else if (v->lost_now) {
		snprintf(words, size, "%s records lost in the last %s: results can be incomplete",
			 format_count(v->lost_now).s, format_time(v->interval).s);
	} else if (stalled) {
		_cleanup_(freep) char *name = top_row_name(stalled);

		snprintf(words, size, "no reply for %s, %s open: %s",
			 format_time(stalled->oldest).s, format_count(stalled->in_flight).s, name);
	} else if (v->warning) {
		*ret_look = LOOK_YELLOW;
		snprintf(words, size, "warning: %s", v->warning);
	} else {
		return false;
	}
	return true;
}

static void put_trouble(struct top_screen *s)
{
	char words[1024];
	unsigned look;

	if (trouble_words(s->view, words, sizeof(words), &look))
		grid_put(s->grid, s->row++, 0, SIZE_MAX, look, words);
}

/* Rows of the parts of the main page. */
struct heights {
	size_t table, bars, deviations, causes; /* 0: left out */
	size_t gap;                             /* blank rows between them */
};

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/*
 * The table gets a third, the bars a quarter, the causes the rest, or half of it if there are
 * differences from a baseline.  What one of them does not need
 * goes to the others: first to the causes, then to the table, then to the bars.  A selected
 * operation gets the room of all, so that nothing moves with the selection.
 */
static struct heights divide(const struct top_screen *s, size_t rows)
{
	const struct top_controls *c = s->controls;
	size_t least = c->has_keys || !s->rows->count ? 3 : 1; /* the reason takes three lines */
	size_t table = 1 + larger(larger(s->rows->count, c->table_rows), least);
	size_t bars = 1 + larger(top_bar_count(&s->account), top_bar_count(&s->view->all));
	size_t causes =
		larger(top_causes_height(s, &s->account), top_causes_height(s, &s->view->all));
	struct heights h = { .gap = rows >= 18 };

	if (rows < 7 || bars == 1)
		return (struct heights){ .table = c->has_keys ? rows : smaller(rows, table) };
	h.table = smaller(table, rows < 14 ? (rows + 2) / 2 : 1 + rows / 3);
	h.bars = rows < 14 ? 0 : smaller(bars, 1 + rows / 5);

	size_t rest = rows - h.table - h.bars - 3 * h.gap;

	h.deviations = rest < 4 ? 0 : smaller(top_deviations_height(s), rest / 2);
	rest -= h.deviations ? h.deviations + h.gap : 0;
	h.causes = smaller(causes, rest);
	rest -= h.causes;
	size_t more = smaller(table - h.table, rest);
	h.table += more;
	if (h.bars)
		h.bars += smaller(bars - h.bars, rest - more);
	return h;
}

static void put_main(struct top_screen *s)
{
	size_t last = s->controls->has_keys ? 2 : 1;

	put_title(s);
	put_trouble(s);
	if (s->grid->rows < s->row + last + 2)
		last = 0;

	struct heights h = divide(s, s->grid->rows - smaller(s->grid->rows, s->row + last));

	top_table(s, h.table);
	s->row += h.bars ? h.gap : 0;
	top_bars(s, h.bars);
	s->row += h.deviations ? h.gap : 0;
	top_deviations(s, h.deviations);
	s->row += h.causes ? h.gap : 0;
	top_causes(s, h.causes);
	if (!last)
		return;
	if (s->controls->has_keys)
		s->row = s->grid->rows - last;
	else if (h.gap)
		s->row++;
	top_footer(s);
	if (s->controls->has_keys)
		top_keys(s);
}

/* Of the selected operation, or the first of each listed one. */
static void list_deviations(struct top_screen *s)
{
	enum { LISTED_MAX = 8 };

	for (size_t i = 0; s->selected && i < s->selected->deviation_count; i++)
		*vec_push(&s->deviations) = &s->selected->deviations[i];
	for (size_t i = 0; !s->selected && i < s->rows->count && s->deviations.count < LISTED_MAX;
	     i++)
		if (s->rows->items[i]->deviation_count)
			*vec_push(&s->deviations) = &s->rows->items[i]->deviations[0];
}

void top_text(struct grid *g, const struct top_view *view, const struct top_controls *controls)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	struct top_screen s = { .grid = g, .view = view, .controls = controls };
	top_rows rows = { 0 };

	top_order(view, controls->sort, controls->filter, &rows);
	s.rows = &rows;
	for (size_t i = 0; i < rows.count && controls->operation; i++)
		if (top_row_is(rows.items[i], controls->service, controls->operation))
			s.selected = rows.items[i];
	for (size_t i = 0; i < view->row_count; i++)
		s.total += view->rows[i].is_idle ? 0 : view->rows[i].total;
	s.account = s.selected          ? s.selected->account
		    : *controls->filter ? top_sum(&rows, arena)
					: view->all;
	list_deviations(&s);
	if (controls->page == TOP_PAGE_MAIN)
		put_main(&s);
	else
		top_pages(&s);
	vec_done(&s.deviations);
	vec_done(&rows);
}
