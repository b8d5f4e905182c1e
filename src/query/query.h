/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query - SQL over a model.
 *
 * The model is shown to SQLite as virtual tables, so nothing is copied: a row is
 * made when it is looked at, of the columns that are asked for.  Where a query
 * says of which thread, or from when to when, only that part is looked at.
 *
 * The database is in memory and can only be read.  SQL may come from anybody:
 * it gets at no file, and its length, depth and memory are limited.
 */
#ifndef SONDE_QUERY_QUERY_H
#define SONDE_QUERY_QUERY_H

#include "base/err.h"
#include "model/model.h"

struct query;

struct query *query_new(const struct model *model); /* which is borrowed */
void query_free(struct query *query);
DEFINE_FREEP(query)

/* Asked now and then while a query runs: whether to give up. */
void query_set_stop(struct query *query, bool (*stop)(void));

enum query_type { QUERY_NULL, QUERY_INT, QUERY_REAL, QUERY_TEXT, QUERY_BLOB };

struct query_value {
	enum query_type type;
	int64_t i;
	double real;
	const char *s; /* of TEXT and BLOB; holds until the next row */
	size_t len;
};

/* Where results go: begin, rows and end for each statement.  A negative return stops all. */
struct query_sink {
	int (*begin)(void *arg, const char *const *names, size_t count);
	int (*row)(void *arg, const struct query_value *values);
	int (*end)(void *arg);
	void *arg;
};

/* Run all statements in a text.  -EINTR if it was stopped. */
int query_run(struct query *query, const char *sql, const struct query_sink *sink, struct err *err);

/* Whether a text ends with a whole statement, semicolon included. */
bool query_is_complete(const char *sql);

#endif
