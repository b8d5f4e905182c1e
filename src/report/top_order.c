/* SPDX-License-Identifier: Apache-2.0 */
#include "report/top_order.h"

#include <stdlib.h>
#include <string.h>

const char *top_sort_name(enum top_sort sort)
{
	static const char *const names[TOP_SORTS] = {
		"time", "req/s", "open", "p50", "p95", "p99"
	};

	return names[sort];
}

bool top_row_is(const struct top_row *row, const char *service, const char *operation)
{
	return strcmp(row->operation, operation) == 0 && strcmp(row->service, service) == 0;
}

static double sort_value(const struct top_row *row, enum top_sort sort)
{
	switch (sort) {
	case TOP_SORT_RATE:
		return row->rate;
	case TOP_SORT_OPEN:
		return row->in_flight;
	case TOP_SORT_P50:
		return row->p50;
	case TOP_SORT_P95:
		return row->p95;
	case TOP_SORT_P99:
		return row->p99;
	default:
		return row->total;
	}
}

static int larger_row_first(const void *a, const void *b, void *arg)
{
	const struct top_row *x = *(const struct top_row *const *)a;
	const struct top_row *y = *(const struct top_row *const *)b;
	double first = sort_value(x, *(enum top_sort *)arg);
	double second = sort_value(y, *(enum top_sort *)arg);
	int names = strcmp(x->service, y->service);

	if (x->is_idle != y->is_idle)
		return x->is_idle ? 1 : -1;
	if (first != second)
		return first > second ? -1 : 1;
	return names ? names : strcmp(x->operation, y->operation);
}

void top_order(const struct top_view *view, enum top_sort sort, const char *filter, top_rows *ret)
{
	for (size_t i = 0; i < view->row_count; i++) {
		const struct top_row *row = &view->rows[i];

		if (strcasestr(row->operation, filter) || strcasestr(row->service, filter))
			*vec_push(ret) = row;
	}
	if (ret->count)
		qsort_r(ret->items, ret->count, sizeof(ret->items[0]), larger_row_first, &sort);
}

static int by_service_and_state(const void *a, const void *b)
{
	const struct top_share *x = a, *y = b;
	int services = strcmp(x->service, y->service);

	return services ? services : x->state - y->state;
}

static int larger_share_first(const void *a, const void *b)
{
	const struct top_share *x = a, *y = b;

	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return by_service_and_state(a, b);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct top_cause *)a)->text, ((const struct top_cause *)b)->text);
}

static int larger_cause_first(const void *a, const void *b)
{
	const struct top_cause *x = a, *y = b;

	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return by_text(a, b);
}

/* Adds up the shares of each service and state.  Returns their number. */
static size_t sum_shares(struct top_share *shares, size_t count)
{
	size_t n = 0;

	if (!count)
		return 0;
	qsort(shares, count, sizeof(*shares), by_service_and_state);
	for (size_t i = 0; i < count; i++)
		if (n && by_service_and_state(&shares[n - 1], &shares[i]) == 0)
			shares[n - 1].share += shares[i].share;
		else
			shares[n++] = shares[i];
	qsort(shares, n, sizeof(*shares), larger_share_first);
	return n;
}

/* The same for causes with the same words. */
static size_t sum_causes(struct top_cause *causes, size_t count)
{
	size_t n = 0;

	if (!count)
		return 0;
	qsort(causes, count, sizeof(*causes), by_text);
	for (size_t i = 0; i < count; i++)
		if (n && by_text(&causes[n - 1], &causes[i]) == 0)
			causes[n - 1].share += causes[i].share;
		else
			causes[n++] = causes[i];
	qsort(causes, n, sizeof(*causes), larger_cause_first);
	return n;
}

struct top_account top_sum(const top_rows *rows, struct arena *arena)
{
	size_t shares = 0, causes = 0;
	double total = 0;

	for (size_t i = 0; i < rows->count; i++) {
		shares += rows->items[i]->account.share_count;
		causes += rows->items[i]->account.cause_count;
		total += rows->items[i]->total;
	}

	struct top_share *all_shares = arena_alloc(arena, (shares + 1) * sizeof(*all_shares));
	struct top_cause *all_causes = arena_alloc(arena, (causes + 1) * sizeof(*all_causes));

	shares = causes = 0;
	for (size_t i = 0; i < rows->count; i++) {
		const struct top_account *a = &rows->items[i]->account;
		double weight = total > 0 ? rows->items[i]->total / total : 0;

		for (size_t j = 0; j < a->share_count; j++) {
			all_shares[shares] = a->shares[j];
			all_shares[shares++].share *= weight;
		}
		for (size_t j = 0; j < a->cause_count; j++) {
			all_causes[causes] = a->causes[j];
			all_causes[causes++].share *= weight;
		}
	}
	return (struct top_account){ all_shares, sum_shares(all_shares, shares), all_causes,
				     sum_causes(all_causes, causes) };
}
