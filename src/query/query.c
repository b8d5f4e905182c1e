/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query - run statements safely.
 *
 * Three measures protect against malicious SQL.  An authorizer checks every action of a
 * statement and permits only reads.  Limits on lengths, depths and memory turn excessive
 * queries into errors.  A long-running query can be stopped.
 */
#include "query/query.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "query/internal.h"

enum { OPS_BETWEEN_CHECKS = 10000, MB = 1 << 20 };

static int is_stopped(void *arg)
{
	const struct query *q = arg;

	return q->stop && q->stop();
}

static void set_limits(struct query *q)
{
	static const struct {
		int id, maximum;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, 64 * MB },
		{ SQLITE_LIMIT_SQL_LENGTH, MB },
		{ SQLITE_LIMIT_COLUMN, 1000 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 500 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 200 },
		{ SQLITE_LIMIT_VDBE_OP, 10 * MB },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000 },
		{ SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 0 },
		{ SQLITE_LIMIT_WORKER_THREADS, 0 },
	};
	int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		sqlite3_limit(q->db, limits[i].id, limits[i].maximum);
	if (memory > 0)
		sqlite3_hard_heap_limit64(memory / 2);
}

/* Failures here are lack of memory or a bug. */
static void must(int rc)
{
	if (rc != SQLITE_OK)
		abort();
}

struct query *query_new(const struct model *model)
{
	struct query *q = must_alloc(sizeof(*q));

	q->model = model;
	must(sqlite3_open_v2(":memory:", &q->db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
			     NULL));
	/* sort in memory, not in files */
	must(sqlite3_exec(q->db, "PRAGMA temp_store = memory", NULL, NULL, NULL));
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, NULL);
	sqlite3_db_config(q->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	for (size_t i = 0; query_tables[i]; i++) {
		assert(i < TABLE_MAX && query_tables[i]->column_count <= COLUMN_MAX);
		q->tables[i] = (struct table_state){
			.query = q, .table = query_tables[i], .rows = -1, .in_order = -1
		};
		must(table_register(q, &q->tables[i]));
	}
	must(query_register_functions(q));
	set_limits(q);
	sqlite3_set_authorizer(q->db, query_authorize, q);
	sqlite3_progress_handler(q->db, OPS_BETWEEN_CHECKS, is_stopped, q);
	return q;
}

void query_free(struct query *q)
{
	if (!q)
		return;
	sqlite3_close(q->db);
	for (size_t i = 0; query_tables[i]; i++)
		table_state_done(&q->tables[i]);
	if (q->has_requests)
		requests_done(&q->requests);
	free(q->span_cpu);
	vec_done(&q->cpu_slices);
	free(q);
}

void query_set_stop(struct query *q, bool (*stop)(void))
{
	q->stop = stop;
}

bool query_is_complete(const char *sql)
{
	return sqlite3_complete(sql);
}

/* The line of the SQL that contains an offset, with a mark below the offset. */
static char *excerpt(const char *sql, size_t at)
{
	enum { BEFORE = 40, WIDTH = 72 };
	size_t begin = at;

	while (begin > 0 && at - begin < BEFORE && sql[begin - 1] != '\n')
		begin--;

	size_t len = strcspn(sql + begin, "\n");
	char *text = must_printf("%.*s", (int)(len < WIDTH ? len : WIDTH), sql + begin);

	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';

	char *marked = must_printf("\n  %s\n  %*s^", text, (int)(at - begin), "");

	free(text);
	return marked;
}

/* How to find the right name, for errors about names. */
static const char *hint(const char *message)
{
	if (strncmp(message, "no such table", 13) == 0)
		return "; SELECT * FROM tables lists all tables";
	if (strncmp(message, "no such column", 14) == 0)
		return "; SELECT * FROM columns lists all columns";
	return "";
}

static int report_failure(struct query *q, const char *sql, struct err *err)
{
	const char *message = sqlite3_errmsg(q->db);
	int at = sqlite3_error_offset(q->db);
	_cleanup_(freep) char *where = at >= 0 ? excerpt(sql, at) : NULL;

	switch (sqlite3_errcode(q->db)) {
	case SQLITE_AUTH:
		return err_set(err, -EPERM, "queries are read-only: use SELECT");
	case SQLITE_INTERRUPT:
		return err_set(err, -EINTR, "interrupted");
	case SQLITE_NOMEM:
		return err_set(err, -ENOMEM, "the query needs too much memory");
	}
	return err_set(err, -EINVAL, "%s%s%s", message, hint(message), where ? where : "");
}

static void read_value(sqlite3_stmt *stmt, int i, struct query_value *ret)
{
	*ret = (struct query_value){ .type = QUERY_NULL };
	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_INTEGER:
		ret->type = QUERY_INT;
		ret->i = sqlite3_column_int64(stmt, i);
		break;
	case SQLITE_FLOAT:
		ret->type = QUERY_REAL;
		ret->real = sqlite3_column_double(stmt, i);
		break;
	case SQLITE_TEXT:
		ret->type = QUERY_TEXT;
		ret->s = (const char *)sqlite3_column_text(stmt, i);
		ret->len = sqlite3_column_bytes(stmt, i);
		break;
	case SQLITE_BLOB:
		ret->type = QUERY_BLOB;
		ret->s = sqlite3_column_blob(stmt, i);
		ret->len = sqlite3_column_bytes(stmt, i);
		break;
	}
}

static int begin_result(sqlite3_stmt *stmt, int count, const struct query_sink *sink)
{
	_cleanup_(freep) const char **names = must_alloc((count + 1) * sizeof(*names));

	for (int i = 0; i < count; i++)
		names[i] = sqlite3_column_name(stmt, i);
	return sink->begin(sink->arg, names, count);
}

static int run_statement(struct query *q, sqlite3_stmt *stmt, const struct query_sink *sink)
{
	int count = sqlite3_column_count(stmt), rc = SQLITE_DONE;
	_cleanup_(freep) struct query_value *values = must_alloc((count + 1) * sizeof(*values));
	int r = begin_result(stmt, count, sink);

	while (r == 0 && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		for (int i = 0; i < count; i++)
			read_value(stmt, i, &values[i]);
		r = sink->row(sink->arg, values);
	}
	if (r < 0)
		return r;
	r = sink->end(sink->arg); /* also after an error, to show the rows before it */
	return rc == SQLITE_DONE ? r : 1;
}

int query_run(struct query *q, const char *sql, const struct query_sink *sink, struct err *err)
{
	int r = 0;

	while (r == 0 && *sql) {
		sqlite3_stmt *stmt = NULL;
		const char *rest;

		if (sqlite3_prepare_v2(q->db, sql, -1, &stmt, &rest) != SQLITE_OK)
			return report_failure(q, sql, err);
		if (stmt && !sqlite3_stmt_readonly(stmt))
			r = err_set(err, -EPERM, "queries are read-only: use SELECT");
		else if (stmt)
			r = run_statement(q, stmt, sink);
		if (r > 0)
			r = report_failure(q, sql, err);
		sqlite3_finalize(stmt);
		sql = rest;
	}
	return r;
}
