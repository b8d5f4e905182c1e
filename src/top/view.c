/* SPDX-License-Identifier: Apache-2.0 */
/* view - the state of top as values for people. */
#include <stdlib.h>
#include <string.h>

#include "top/top_internal.h"

enum { CAUSES_SHOWN = 8 };

const char *top_copy(struct arena *arena, const char *s)
{
	size_t size = strlen(s) + 1;

	return memcpy(arena_alloc(arena, size), s, size);
}

static const char *copy_or_null(struct arena *arena, const char *s)
{
	return s && *s ? top_copy(arena, s) : NULL;
}

static int larger_cause(const void *a, const void *b)
{
	const struct top_cause *x = a, *y = b;

	return x->share > y->share ? -1 : x->share < y->share;
}

/* Causes with the same words are one. */
static void add_cause(struct top_cause *list, size_t *count, const char *text, double share)
{
	for (size_t i = 0; i < *count; i++)
		if (strcmp(list[i].text, text) == 0) {
			list[i].share += share;
			return;
		}
	list[(*count)++] = (struct top_cause){ share, text };
}

/* A pattern is the first cause, whatever its share. */
static void fill_causes(struct arena *arena, const struct sentences *sentences,
			const struct costs *costs, struct top_account *ret)
{
	struct top_cause found[COST_CAUSES], *list;
	size_t count = 0, first = 0;

	for (size_t i = 0; i < costs->causes.count; i++) {
		const struct cost_cause *cause = &costs->causes.items[i];
		const char *text = sentences_find(sentences, cause->key);

		if (text)
			add_cause(found, &count, text, (double)cause->time / costs->total);
		first += text && cause->is_pattern && count == first + 1;
	}
	if (count > first)
		qsort(found + first, count - first, sizeof(found[0]), larger_cause);
	count = count < CAUSES_SHOWN ? count : CAUSES_SHOWN;
	list = arena_alloc(arena, count * sizeof(*list));
	for (size_t i = 0; i < count; i++)
		list[i] = (struct top_cause){ found[i].share, top_copy(arena, found[i].text) };
	ret->causes = list;
	ret->cause_count = count;
}

static void fill_account(struct arena *arena, const struct sentences *sentences,
			 struct costs *costs, struct top_account *ret)
{
	struct top_share *shares =
		arena_alloc(arena, costs->shares.count * sizeof(struct top_share));

	*ret = (struct top_account){ 0 };
	if (!costs->total)
		return;
	costs_sort(costs);
	for (size_t i = 0; i < costs->shares.count; i++) {
		const struct cost_share *s = &costs->shares.items[i];

		shares[i] = (struct top_share){ top_copy(arena, s->service), s->state,
						(double)s->time / costs->total };
	}
	ret->shares = shares;
	ret->share_count = costs->shares.count;
	fill_causes(arena, sentences, costs, ret);
}

static int by_time(const void *a, const void *b)
{
	nsec_t x = *(const nsec_t *)a, y = *(const nsec_t *)b;

	return x < y ? -1 : x > y;
}

static void fill_times(struct operation *op, nsec_t interval, struct top_row *row)
{
	if (op->ages.count)
		qsort(op->ages.items, op->ages.count, sizeof(nsec_t), by_time);

	struct seconds_sum sum = seconds_sum(&op->seconds, op->ages.items, op->ages.count);

	row->requests = sum.count;
	row->rate = interval ? (double)sum.count * NSEC_PER_SEC / interval : 0;
	row->p50 = sum.p50;
	row->p95 = sum.p95;
	row->p99 = sum.p99;
	row->max = sum.max;
	row->at_least = sum.at_least;
	row->total = sum.total;
}

/* Whether the costs of an older second should be added to those of `age` newer ones. */
static bool needs_older(const struct costs *costs, unsigned int age)
{
	return age < SECONDS_EXACT && (age < COST_SECONDS || costs->accounts < COST_ACCOUNTS);
}

static size_t second_before(const struct top *top, unsigned int age)
{
	return (top->operations.second + SECONDS_EXACT - age) % SECONDS_EXACT;
}

/* Returns whether there is anything to show. */
static bool fill_row(const struct top *top, struct operation *op,
		     const struct watch_summary *summary, struct top_view *view,
		     struct top_row *row)
{
	struct costs costs = { 0 };

	*row = (struct top_row){ 0 };
	fill_times(op, view->interval, row);
	if (!seconds_history(&op->seconds, row->history) && !op->in_flight && !row->requests)
		return false;
	row->service = top_copy(view->arena, op->service);
	row->operation = top_copy(view->arena, op->name);
	row->is_idle = op->is_idle;
	row->in_flight = op->in_flight;
	row->oldest = op->oldest;
	row->slowest = op->slowest;
	row->explanation = copy_or_null(view->arena, op->explanation);
	for (unsigned int age = 0; needs_older(&costs, age); age++)
		costs_add(&costs, &op->costs[second_before(top, age)]);
	fill_account(view->arena, &top->sentences, &costs, &row->account);
	costs_done(&costs);
	if (top->watch)
		top_fill_deviations(top, summary, op, view->arena, row);
	return true;
}

static void fill_rows(const struct top *top, struct top_view *view)
{
	const struct operations *ops = &top->operations;
	struct top_row *rows =
		arena_alloc(view->arena, (ops->items.count + 1) * sizeof(struct top_row));
	_cleanup_(watch_summary_done) struct watch_summary summary = { 0 };

	if (top->watch)
		watch_sum(top->watch, &summary);
	for (size_t i = 0; i <= ops->items.count; i++) {
		struct operation *op = i < ops->items.count ? ops->items.items[i] : ops->rest;

		if (op)
			view->row_count +=
				fill_row(top, op, &summary, view, &rows[view->row_count]);
	}
	view->rows = rows;
	view->has_baseline = top->watch;
}

static void fill_sums(const struct top *top, struct top_view *view)
{
	struct costs costs = { 0 };
	uint64_t accounted = 0;

	for (size_t i = 0; i < SECONDS_EXACT; i++) {
		const struct top_second *s = &top->seconds[i];

		accounted += s->costs.accounts;
		view->requests += s->requests;
		view->left_out += s->left_out;
		view->lost_now += s->lost;
	}
	for (unsigned int age = 0; needs_older(&costs, age); age++)
		costs_add(&costs, &top->seconds[second_before(top, age)].costs);
	/* with ticks longer than the interval, accounts are of more requests */
	view->accounted = accounted < view->requests ? accounted : view->requests;
	view->in_flight = top->in_flight;
	view->rate = view->interval ? (double)view->requests * NSEC_PER_SEC / view->interval : 0;
	fill_account(view->arena, &top->sentences, &costs, &view->all);
	costs_done(&costs);
}

static void fill_state(const struct top *top, struct top_view *view)
{
	const struct live_state *s = &top->state;

	view->host = top_copy(view->arena, s->host ?: "");
	view->scope = top_copy(view->arena, top->options.scope);
	view->time = s->realtime_offset ? s->settled + s->realtime_offset : 0;
	view->elapsed = top->has_begun && s->now > top->begin ? s->now - top->begin : 0;
	view->records = s->records;
	view->record_rate = top->record_rate;
	view->lost = s->lost;
	view->window = s->window;
	view->window_wanted = s->window_wanted;
	view->memory = s->memory;
	view->memory_limit = s->memory_limit;
	view->lag = s->lag;
	view->recorder_cpu = top->recorder.cores;
	view->reader_cpu = top->reader.cores;
	view->recorder_memory = s->recorder.resident;
	view->reader_memory = top->reader_memory;
	view->problem = copy_or_null(view->arena, s->problem);
	view->warning = copy_or_null(view->arena, s->warning);
}

/* From the start of the oldest of the last seconds. */
static nsec_t interval_of(const struct top *top)
{
	uint64_t second = top->operations.second;
	nsec_t from = top->begin;

	if (!top->has_begun)
		return 0;
	if (second >= SECONDS_EXACT)
		from = top->seconds[(second + 1) % SECONDS_EXACT].from;
	return top->state.now > from ? top->state.now - from : 0;
}

struct top_view *top_view_new(struct top *top)
{
	struct top_view *view = must_alloc(sizeof(*view));

	view->arena = arena_new();
	view->interval = interval_of(top);
	fill_state(top, view);
	fill_rows(top, view);
	fill_sums(top, view);
	return view;
}
