/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of requests goes: bars of services and states, and causes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "event/event.h"
#include "event/kind.h"
#include "report/state_style.h"
#include "report/top_internal.h"

enum { SERVICES = 32, SERVICE = 14, PERCENT = 6, GAP = 2, WORDS_LEAST = 28, CAUSE = 8 };

/* The share of a service, as the sum of its states. */
struct bar {
	const char *service;
	double share;
};

struct bars {
	struct bar items[SERVICES];
	size_t count;
};

static int larger_bar_first(const void *a, const void *b)
{
	const struct bar *x = a, *y = b;

	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return strcmp(x->service, y->service);
}

/* The shares are sorted, so services beyond the first are small. */
static struct bars bars_of(const struct top_account *account)
{
	struct bars bars = { .count = 0 };

	for (size_t i = 0; i < account->share_count; i++) {
		const struct top_share *share = &account->shares[i];
		size_t at = 0;

		while (at < bars.count && strcmp(bars.items[at].service, share->service) != 0)
			at++;
		if (at == SERVICES)
			continue;
		if (at == bars.count)
			bars.items[bars.count++] = (struct bar){ share->service, 0 };
		bars.items[at].share += share->share > 0 ? share->share : 0;
	}
	qsort(bars.items, bars.count, sizeof(bars.items[0]), larger_bar_first);
	return bars;
}

size_t top_bar_count(const struct top_account *account)
{
	return bars_of(account).count;
}

/* As in report/explain_text.c: green for running, yellow for runnable, red for locks and disks. */
static unsigned state_look(char state)
{
	switch (state) {
	case STATE_RUNNING:
		return LOOK_GREEN;
	case STATE_READY:
	case STATE_THROTTLED:
		return LOOK_YELLOW;
	case STATE_LOCK:
	case STATE_DISK:
		return LOOK_RED;
	default:
		return LOOK_CYAN;
	}
}

static void put_states(struct top_screen *s, const char *service, size_t column, size_t width)
{
	size_t end = column + width, begin = column;

	for (size_t i = 0; i < s->account.share_count; i++) {
		const struct top_share *share = &s->account.shares[i];
		char words[48];

		if (strcmp(share->service, service) != 0)
			continue;
		snprintf(words, sizeof(words), "%s%c %s %s", column > begin ? "  " : "",
			 state_letter(share->state), state_label(share->state),
			 top_percent(share->share).s);
		if (column + strlen(words) > end)
			return;
		column += grid_put(s->grid, s->row, column, end - column, LOOK_PLAIN, words);
	}
}

/* The ends of states are rounded, so that the bar is as long as their sum; `scale` fills `width`.
 */
static void put_bar(struct top_screen *s, const char *service, double scale, size_t column,
		    size_t width)
{
	double sum = 0;
	size_t at = 0;

	for (size_t i = 0; i < s->account.share_count; i++) {
		const struct top_share *share = &s->account.shares[i];
		char letter[2] = { state_letter(share->state), '\0' };

		if (strcmp(share->service, service) != 0 || !(share->share > 0))
			continue;
		sum += share->share;

		size_t end = sum < scale ? sum / scale * width + 0.5 : width;

		if (end > at)
			grid_repeat(s->grid, s->row, column + at, end - at,
				    state_look(share->state) | LOOK_BOLD, letter, letter[0]);
		at = end > at ? end : at;
	}
}

static void put_title(struct top_screen *s)
{
	const struct top_view *v = s->view;
	char words[640], note[160] = "";

	if (v->accounted < v->requests && v->accounted)
		snprintf(note, sizeof(note), " (sample: %s of %s requests)",
			 format_count(v->accounted).s, format_count(v->requests).s);
	if (s->selected) {
		_cleanup_(freep) char *name = top_row_name(s->selected);

		snprintf(words, sizeof(words), "time on the critical path of %.400s", name);
	} else {
		snprintf(words, sizeof(words), "time on the critical path of %s%s",
			 *s->controls->filter ? "the operations above" : "all requests", note);
	}
	grid_put(s->grid, s->row++, 0, SIZE_MAX, LOOK_BOLD, words);
}

void top_bars(struct top_screen *s, size_t height)
{
	struct bars bars = bars_of(&s->account);
	size_t columns = s->grid->columns, column = 1 + SERVICE + PERCENT + GAP;
	size_t left = columns > column ? columns - column : 0;
	size_t bar = left / 5 * 2, words = left - bar;
	double largest = bars.count ? bars.items[0].share : 0;

	if (!height)
		return;
	put_title(s);
	if (!bars.count && height > 1)
		grid_put(s->grid, s->row, 1, SIZE_MAX, LOOK_PLAIN,
			 "no request of it was analysed in this interval");
	if (words < WORDS_LEAST) {
		bar = left;
		words = 0;
	}
	for (size_t i = 0; i + 1 < height && i < bars.count; i++) {
		const char *service = bars.items[i].service;

		grid_put(s->grid, s->row, 1, SERVICE, LOOK_PLAIN, service);
		grid_put_right(s->grid, s->row, 1 + SERVICE, PERCENT, LOOK_PLAIN,
			       top_percent(bars.items[i].share).s);
		put_bar(s, service, largest, column, bar);
		if (words)
			put_states(s, service, column + bar + GAP, words - GAP);
		s->row++;
	}
	if (bars.count + 1 < height)
		s->row += height - 1 - bars.count;
}

static size_t causes_width(const struct top_screen *s)
{
	return s->grid->columns > CAUSE + 8 ? s->grid->columns - CAUSE : 8;
}

size_t top_causes_height(const struct top_screen *s, const struct top_account *account)
{
	size_t height = 1;

	for (size_t i = 0; i < account->cause_count; i++)
		height +=
			top_wrap(s->grid, GRID_MAX, 0, causes_width(s), 8, account->causes[i].text);
	return height;
}

size_t top_deviations_height(const struct top_screen *s)
{
	size_t height = 1;

	if (!s->deviations.count)
		return 0;
	for (size_t i = 0; i < s->deviations.count; i++)
		height += top_wrap(s->grid, GRID_MAX, 0, causes_width(s), 8,
				   s->deviations.items[i]->text);
	return height;
}

void top_deviations(struct top_screen *s, size_t height)
{
	size_t end = s->row + height;

	if (height < 2)
		return;
	grid_put(s->grid, s->row++, 0, SIZE_MAX, LOOK_BOLD, "what leaves the baseline");
	for (size_t i = 0; i < s->deviations.count && s->row < end; i++) {
		const struct top_deviation *d = s->deviations.items[i];
		struct text percent = top_percent((double)d->flagged / d->spans);

		grid_put_right(s->grid, s->row, 1, CAUSE - 3, LOOK_BOLD, percent.s);
		s->row += top_wrap(s->grid, s->row, CAUSE, causes_width(s), end - s->row, d->text);
	}
	s->row = end;
}

void top_causes(struct top_screen *s, size_t height)
{
	size_t end = s->row + height, count = s->account.cause_count;

	if (height < 2)
		return;

	grid_put(s->grid, s->row++, 0, SIZE_MAX, LOOK_BOLD, "causes that cost most");
	for (size_t i = 0; i < count && s->row < end; i++) {
		const struct top_cause *cause = &s->account.causes[i];
		size_t next = (count < 3 ? count : 3) - i; /* causes to make room for */
		size_t room = end - s->row, lines = i < 2 ? (room + next - 1) / next : room;

		grid_put_right(s->grid, s->row, 1, CAUSE - 3, LOOK_BOLD,
			       top_percent(cause->share).s);
		s->row += top_wrap(s->grid, s->row, CAUSE, causes_width(s), lines, cause->text);
	}
	s->row = end;
}
