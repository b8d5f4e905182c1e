/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: a capture, or SQL.  For a capture, show all tables, and check that time bounds
 * find the same rows as a full scan.  Bisection needs sorted timelines, so times that jump
 * back are raised to the time before.  SQL runs on a small model with some records of
 * every kind; it must end, with a result or an error message.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "event/capture.h"
#include "query/show.h"
#include "unit/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static const char *get_string(const void *arg, uint32_t id)
{
	return capture_get_string(arg, id);
}

static struct model *read_model(const struct capture *cap)
{
	struct source source = { .get_string = get_string, .arg = cap };
	struct model *model = model_new();
	const struct record *r;
	struct capture_cursor cur;
	struct err err;
	nsec_t last = 0;

	capture_cursor_init(&cur, cap, 0, UINT64_MAX);
	while (capture_next(&cur, &r, &err) > 0) {
		_cleanup_(freep) struct record *copy = must_alloc(r->words * 8u + 256);

		memcpy(copy, r, r->words * 8u);
		if (copy->time < last)
			copy->time = last;
		last = copy->time;
		model_add(model, &source, copy);
	}
	model_finish(model);
	return model;
}

static unsigned stop_calls;

static bool stop_soon(void)
{
	return ++stop_calls > 20;
}

static void run_sql(struct query *q, enum show_format format, const char *sql)
{
	_cleanup_(freep) struct out *out = must_alloc(sizeof(*out));
	FILE *file = fopen("/dev/null", "w");
	struct err err = { "" };

	out_init(out, file);

	_cleanup_(show_freep) struct show *show = show_new(out, format, format == SHOW_CSV);

	stop_calls = 0;
	if (query_run(q, sql, show_sink(show), &err) < 0)
		assert(err.text[0]);
	out_flush(out);
	fclose(file);
}

static int nothing(void *arg)
{
	return 0;
}

static int no_names(void *arg, const char *const *names, size_t count)
{
	return 0;
}

static int copy_number(void *arg, const struct query_value *values)
{
	*(int64_t *)arg = values[0].i;
	return 0;
}

static int64_t number(struct query *q, const char *sql)
{
	int64_t n = -1;
	struct query_sink sink = { no_names, copy_number, nothing, &n };
	struct err err;

	stop_calls = 0;
	return query_run(q, sql, &sink, &err) < 0 ? -1 : n;
}

/* Bisection and a full scan find the same number of rows. */
static void check_bounds(struct query *q, const char *table, const char *from, const char *to)
{
	static const char bounds[] =
		"WITH at(t) AS (SELECT avg(%s) FROM %s) SELECT count(*) FROM %s x, at "
		"WHERE %s <= at.t AND %s >= at.t";
	_cleanup_(freep) char *quick = must_printf(bounds, from, table, table, from, to);
	_cleanup_(freep) char *from_value = must_printf("CAST(%s AS INTEGER)", from);
	_cleanup_(freep) char *to_value = must_printf("CAST(%s AS INTEGER)", to);
	_cleanup_(freep) char *slow = must_printf(bounds, from, table, table, from_value, to_value);
	int64_t a = number(q, quick), b = number(q, slow);

	assert(a == b || a < 0 || b < 0);
}

static void read_all_tables(struct query *q)
{
	static const char *const tables[] = { "threads",  "intervals",    "wakeups",
					      "slices",   "messages",     "connections",
					      "syscalls", "block_io",     "probe_events",
					      "samples",  "stacks",       "spans",
					      "requests", "request_work", "losses" };

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		_cleanup_(freep) char *sql = must_printf("SELECT * FROM %s LIMIT 2000", tables[i]);

		run_sql(q, i % 3, sql);
	}
	check_bounds(q, "intervals", "start", "end");
	check_bounds(q, "wakeups", "start", "time");
	check_bounds(q, "slices", "start", "end");
	check_bounds(q, "syscalls", "start", "end");
	check_bounds(q, "block_io", "start", "end");
	check_bounds(q, "probe_events", "time", "time");
}

static const char *no_string(const void *arg, uint32_t id)
{
	return id ? "na\x1bme" : "";
}

#define ADD(model, KIND, type, t, ...) \
	model_add(model, &source, \
		  &(struct record_##type){ .head = { .time = (t), \
						     .tid = 1 + (t) % 3, \
						     .kind = RECORD_##KIND, \
						     .words = sizeof(struct record_##type) / 8 }, \
					   __VA_ARGS__ } \
			   .head)

static struct model *small_model(void)
{
	static const struct source source = { .get_string = no_string };
	struct model *model = model_new();

	for (nsec_t t = 0; t < 3; t++)
		ADD(model, TASK, task, t, .pid = 1, .comm = 1, .event = TASK_EXISTING);
	for (nsec_t t = 10; t < 40; t++) {
		ADD(model, RUN, run, t, .start = t - 2);
		ADD(model, WAIT, wait, t + 1, .start = t - 2, .woken = t, .state = STATE_LOCK,
		    .ready = STATE_READY, .waker = 1, .context = WAKE_TASK, .stack = t % 3);
		ADD(model, SYSCALL, syscall, t + 1, .start = t);
		ADD(model, MESSAGE, message, t + 1, .object = 4, .object_kind = OBJECT_INET);
		ADD(model, SPAN, span, t + 1, .start = t, .trace = { 1 }, .span = { t });
	}
	model_finish(model);
	return model;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	struct bytes given = { (uint8_t *)input, size };
	_cleanup_(bytes_done) struct bytes bytes = bytes_copy(&given, size);
	_cleanup_(capture_freep) struct capture *cap = NULL;
	_cleanup_(model_freep) struct model *model = NULL;
	_cleanup_(query_freep) struct query *q = NULL;
	struct err err;

	bytes_seal(&bytes);
	if (capture_open_memory("fuzz", bytes.data, size, &cap, &err) == 0) {
		model = read_model(cap);
		q = query_new(model);
		query_set_stop(q, stop_soon);
		read_all_tables(q);
		return 0;
	}

	_cleanup_(freep) char *sql = must_alloc(size + 1);

	memcpy(sql, input, size);
	model = small_model();
	q = query_new(model);
	query_set_stop(q, stop_soon);
	run_sql(q, size % 3, sql);
	return 0;
}
