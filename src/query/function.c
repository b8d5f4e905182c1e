/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function - SQL functions in addition to those of SQLite.
 *
 * percentile() returns the nearest rank, which is one of the values, as `sonde requests`
 * does.  It allocates from SQLite, so that the memory limit applies.
 */
#include <math.h>
#include <string.h>

#include "query/internal.h"
#include "event/kind.h"

/* ms(duration), us(duration): the user data is the divisor. */
static void scaled(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const double *unit = sqlite3_user_data(ctx);

	if (sqlite3_value_numeric_type(argv[0]) != SQLITE_NULL)
		sqlite3_result_double(ctx, sqlite3_value_double(argv[0]) / *unit);
}

static void since_start(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const struct query *q = sqlite3_user_data(ctx);
	int64_t begin = model_begin(q->model), t;

	if (sqlite3_value_numeric_type(argv[0]) == SQLITE_NULL)
		return;
	t = sqlite3_value_int64(argv[0]);
	if (__builtin_sub_overflow(t, begin, &t))
		return;
	sqlite3_result_double(ctx, t / (double)NSEC_PER_SEC);
}

/* The largest power of two that is at most n. */
static void bucket(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	int64_t n = sqlite3_value_int64(argv[0]);

	if (sqlite3_value_numeric_type(argv[0]) != SQLITE_NULL)
		sqlite3_result_int64(ctx, n > 0 ? 1ll << (63 - __builtin_clzll(n)) : 0);
}

static void state_name(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	const char *letter = (const char *)sqlite3_value_text(argv[0]);

	if (letter && *letter && !letter[1] && strchr(state_letters, *letter))
		sqlite3_result_text(ctx, state_words(*letter), -1, SQLITE_STATIC);
}

struct percentile {
	double *values;
	size_t count, capacity;
	double percent;
	bool has_real, failed;
};

static void percentile_grow(sqlite3_context *ctx, struct percentile *p)
{
	size_t capacity = p->capacity ? 2 * p->capacity : 64;
	double *more = sqlite3_realloc64(p->values, capacity * sizeof(*more));

	if (!more) {
		p->failed = true;
		sqlite3_result_error_nomem(ctx);
		return;
	}
	p->values = more;
	p->capacity = capacity;
}

static void percentile_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct percentile *p = sqlite3_aggregate_context(ctx, sizeof(*p));

	if (!p || p->failed || sqlite3_value_numeric_type(argv[0]) == SQLITE_NULL)
		return;
	p->percent = sqlite3_value_double(argv[1]);
	if (!(p->percent >= 0 && p->percent <= 100)) {
		p->failed = true;
		sqlite3_result_error(ctx, "percentile(x, p) needs p between 0 and 100", -1);
		return;
	}
	if (p->count == p->capacity)
		percentile_grow(ctx, p);
	if (p->failed)
		return;
	p->has_real |= sqlite3_value_numeric_type(argv[0]) != SQLITE_INTEGER;
	p->values[p->count++] = sqlite3_value_double(argv[0]);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void percentile_final(sqlite3_context *ctx)
{
	struct percentile *p = sqlite3_aggregate_context(ctx, 0);
	double found;
	size_t rank;

	if (!p)
		return;
	if (p->count && !p->failed) {
		qsort(p->values, p->count, sizeof(*p->values), by_value);
		rank = ceil(p->count * p->percent / 100);
		found = p->values[rank ? rank - 1 : 0];
		if (p->has_real)
			sqlite3_result_double(ctx, found);
		else
			sqlite3_result_int64(ctx, found);
	}
	sqlite3_free(p->values);
}

int query_register_functions(struct query *q)
{
	static const double milli = NSEC_PER_MSEC, micro = NSEC_PER_USEC;
	const struct sql_function {
		const char *name;
		int args;
		const void *data;
		void (*fn)(sqlite3_context *, int, sqlite3_value **);
		void (*step)(sqlite3_context *, int, sqlite3_value **);
		void (*final)(sqlite3_context *);
	} functions[] = {
		{ "ms", 1, &milli, scaled, NULL, NULL },
		{ "us", 1, &micro, scaled, NULL, NULL },
		{ "since_start", 1, q, since_start, NULL, NULL },
		{ "bucket", 1, NULL, bucket, NULL, NULL },
		{ "state_name", 1, NULL, state_name, NULL, NULL },
		{ "percentile", 2, NULL, NULL, percentile_step, percentile_final },
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < ARRAY_LEN(functions) && rc == SQLITE_OK; i++) {
		const struct sql_function *f = &functions[i];

		rc = sqlite3_create_function_v2(q->db, f->name, f->args,
						SQLITE_UTF8 | SQLITE_DETERMINISTIC |
							SQLITE_INNOCUOUS,
						(void *)f->data, f->fn, f->step, f->final, NULL);
	}
	return rc;
}
