/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query - SQL over a model.
 *
 * SQLite sees the model as virtual tables, so no data is copied: a row is built when a
 * query reads it, with only the columns that the query uses.  Conditions on threads and
 * times limit the part of the model that is read.
 *
 * The database is in memory and read-only.  The SQL can come from an untrusted user: it
 * has no access to files, and its length, depth and memory are limited.
 */
#ifndef SONDE_QUERY_QUERY_H
#define SONDE_QUERY_QUERY_H

#include "base/err.h"
#include "model/model.h"

struct query;

struct query *query_new(const struct model *model); /* model is borrowed */
void query_free(struct query *query);
DEFINE_FREEP(query)

/* Set a function that is called repeatedly while a query runs; true stops the query. */
void query_set_stop(struct query *query, bool (*stop)(void));

enum query_type { QUERY_NULL, QUERY_INT, QUERY_REAL, QUERY_TEXT, QUERY_BLOB };

struct query_value {
	enum query_type type;
	int64_t i;
	double real;
	const char *s; /* TEXT and BLOB; valid until the next row */
	size_t len;
};

/* Receives the results: begin, rows and end of each statement.  A negative return stops the run. */
struct query_sink {
	int (*begin)(void *arg, const char *const *names, size_t count);
	int (*row)(void *arg, const struct query_value *values);
	int (*end)(void *arg);
	void *arg;
};

/* Run all statements of a text.  Returns -EINTR if the query was stopped. */
int query_run(struct query *query, const char *sql, const struct query_sink *sink, struct err *err);

/* Whether a text ends with a complete statement, including its semicolon. */
bool query_is_complete(const char *sql);

#endif
