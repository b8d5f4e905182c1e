/* SPDX-License-Identifier: Apache-2.0 */
#include "report/top_json.h"

#include <string.h>

#include "report/json_put.h"
#include "report/top_order.h"

static void put_account(struct json *j, const struct top_account *account)
{
	json_key(j, "path");
	json_array(j);
	for (size_t i = 0; i < account->share_count; i++) {
		const struct top_share *share = &account->shares[i];
		char state[2] = { share->state, '\0' };

		json_object(j);
		put_string(j, "service", share->service);
		put_string(j, "state", state);
		put_real(j, "share", share->share);
		json_end(j);
	}
	json_end(j);
	json_key(j, "causes");
	json_array(j);
	for (size_t i = 0; i < account->cause_count; i++) {
		json_object(j);
		put_real(j, "share", account->causes[i].share);
		put_string(j, "text", account->causes[i].text);
		json_end(j);
	}
	json_end(j);
}

/* Percentiles that requests in flight can still raise. */
static void put_at_least(struct json *j, uint8_t at_least)
{
	static const struct {
		uint8_t bit;
		const char *name;
	} names[] = { { TOP_P50, "p50" }, { TOP_P95, "p95" }, { TOP_P99, "p99" } };

	json_key(j, "at_least");
	json_array(j);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (at_least & names[i].bit)
			json_string(j, names[i].name);
	json_end(j);
}

/* Of each second, oldest first; the seconds before the first request are left out. */
static void put_history(struct json *j, const struct top_row *row)
{
	size_t first = 0;

	while (first < TOP_SECONDS && !row->history[first])
		first++;
	json_key(j, "history");
	json_array(j);
	for (size_t i = first; i < TOP_SECONDS; i++)
		json_u64(j, row->history[i]);
	json_end(j);
}

static void put_times(struct json *j, const struct top_row *row)
{
	put_u64(j, "requests", row->requests);
	put_real(j, "rate", row->rate);
	put_u64(j, "p50", row->p50);
	put_u64(j, "p95", row->p95);
	put_u64(j, "p99", row->p99);
	put_u64(j, "max", row->max);
	put_u64(j, "total", row->total);
	if (row->at_least)
		put_at_least(j, row->at_least);
	put_u64(j, "in_flight", row->in_flight);
	if (row->in_flight)
		put_u64(j, "oldest", row->oldest);
}

static void put_deviation(struct json *j, const struct top_deviation *d)
{
	bool has_times = strcmp(d->state, "pattern") != 0;

	json_object(j);
	put_string(j, "service", d->service);
	put_string(j, "operation", d->operation);
	put_string(j, "state", d->state);
	put_bool(j, "faster", d->is_faster);
	put_u64(j, "spans", d->spans);
	put_u64(j, "flagged", d->flagged);
	if (has_times) {
		put_u64(j, "observed", d->observed);
		put_u64(j, "usual", d->usual);
	}
	put_string(j, "compared_by", d->compared_by);
	put_string(j, "text", d->text);
	json_end(j);
}

static void put_baseline(struct json *j, const struct top_row *row)
{
	json_key(j, "baseline");
	json_object(j);
	put_u64(j, "compared", row->compared);
	json_key(j, "deviations");
	json_array(j);
	for (size_t i = 0; i < row->deviation_count; i++)
		put_deviation(j, &row->deviations[i]);
	json_end(j);
	json_end(j);
}

static void put_row(struct json *j, const struct top_row *row, bool has_baseline)
{
	json_object(j);
	put_string(j, "service", row->service);
	put_string(j, "operation", row->operation);
	put_times(j, row);
	if (row->is_idle)
		put_bool(j, "idle", true);
	put_history(j, row);
	put_account(j, &row->account);
	if (has_baseline)
		put_baseline(j, row);
	if (row->explanation) {
		json_key(j, "slowest");
		json_object(j);
		put_u64(j, "duration", row->slowest);
		put_string(j, "text", row->explanation);
		json_end(j);
	}
	json_end(j);
}

static void put_rows(struct json *j, const struct top_view *view)
{
	top_rows rows = { 0 };

	top_order(view, TOP_SORT_TIME, "", &rows);
	json_key(j, "operations");
	json_array(j);
	for (size_t i = 0; i < rows.count; i++)
		put_row(j, rows.items[i], view->has_baseline);
	json_end(j);
	vec_done(&rows);
}

static void put_process(struct json *j, const char *key, double cpu, uint64_t memory)
{
	if (!memory)
		return; /* a replay has no recorder, and its speed is not that of the system */
	json_key(j, key);
	json_object(j);
	put_real(j, "cpu", cpu);
	put_u64(j, "memory", memory);
	json_end(j);
}

static void put_window(struct json *j, const struct top_view *view)
{
	json_key(j, "window");
	json_object(j);
	put_u64(j, "duration", view->window);
	put_u64(j, "wanted", view->window_wanted);
	put_u64(j, "memory", view->memory);
	put_u64(j, "memory_limit", view->memory_limit);
	json_end(j);
}

static void put_state(struct json *j, const struct top_view *view)
{
	put_u64(j, "records", view->records);
	put_real(j, "record_rate", view->record_rate);
	put_u64(j, "lost", view->lost);
	put_u64(j, "lost_now", view->lost_now);
	put_window(j, view);
	if (view->lag)
		put_u64(j, "lag", view->lag);
	put_process(j, "recorder", view->recorder_cpu, view->recorder_memory);
	put_process(j, "reader", view->reader_cpu, view->reader_memory);
	if (view->problem)
		put_string(j, "problem", view->problem);
	if (view->warning)
		put_string(j, "warning", view->warning);
}

void top_json(struct json *j, const struct top_view *view)
{
	json_object(j);
	put_string(j, "host", view->host);
	put_string(j, "scope", view->scope);
	if (view->time)
		put_u64(j, "time", view->time);
	put_u64(j, "elapsed", view->elapsed);
	put_u64(j, "interval", view->interval);
	put_u64(j, "requests", view->requests);
	put_real(j, "rate", view->rate);
	put_u64(j, "in_flight", view->in_flight);
	put_u64(j, "accounted", view->accounted);
	put_u64(j, "left_out", view->left_out);
	put_rows(j, view);
	put_account(j, &view->all);
	put_state(j, view);
	json_end(j);
	json_newline(j);
}
